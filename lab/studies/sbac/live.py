"""SBAC's live runs on the appliance, with each strategy and without admission control."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from lab.files.run_folder import PlannedRun
from lab.spec.cases import AnyCase
from lab.studies.live import ApplianceStudy, LivePart
from lab.studies.sbac.cases import LIVE_MEANS, Cases, LiveCases, live_spec
from lab.studies.sbac.measures import live_metrics
from lab.studies.sbac.study import STUDY


def live_study(given: Mapping[str, Any]) -> ApplianceStudy[Cases | LiveCases]:
    """Return the live study for these options of `doorbuster reproduce`."""
    return ApplianceStudy(STUDY, parts, given)


def _case_of(cases: LiveCases, mean: float, planned: PlannedRun) -> AnyCase:
    assert planned.rho is not None
    return cases.case(planned.policy, mean, planned.rho)


def parts(cases: LiveCases, seed: int, repetitions: int) -> list[LivePart]:
    """Return a comparison for each mean session length."""
    return [
        LivePart(
            live_spec(mean, cases.scale.loads, seed=seed, repetitions=repetitions),
            partial(_case_of, cases, mean),
            live_metrics,
        )
        for mean in LIVE_MEANS
    ]
