"""The record of a finished run, which an engine returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The counts of a run, and other facts that are not yet in the run's files."""

    before: Mapping[str, Any]
    """The counts of gateway and shop at the beginning of the run (`Appliance.counts`)."""
    after: Mapping[str, Any]
    """The counts of gateway and shop after the last request of the run."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of run.json."""
