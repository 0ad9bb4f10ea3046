"""SBAC on the appliance: the gateway in front of the shop, the strategies against none."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.studies.live import LivePart, reproduce_on_appliance
from lab.studies.sbac.cases import LIVE_MEANS, LiveCases, live_spec
from lab.studies.sbac.measures import live_metrics
from lab.studies.sbac.study import STUDY


def reproduce(given: Mapping[str, Any]) -> Path:
    """Make the comparisons that are missing and write the report; return its page."""
    return reproduce_on_appliance(STUDY, parts, given)


def parts(cases: LiveCases, seed: int, repetitions: int) -> list[LivePart]:
    """Return a comparison for each mean session length."""
    return [
        LivePart(
            live_spec(mean, cases.scale.loads, seed=seed, repetitions=repetitions),
            lambda planned, mean=mean: cases.case(planned.policy, mean, planned.rho),
            live_metrics,
        )
        for mean in LIVE_MEANS
    ]
