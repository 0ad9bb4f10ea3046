"""What an engine returns about a run that has ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The counts of a run, and what else only the engine knows; the rest is in the run's files."""

    before: Mapping[str, Any]
    """Counts of gateway and shop when the run began (`Appliance.counts`)."""
    after: Mapping[str, Any]
    """The same when its last request had ended."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of run.json."""
