"""SBAC's live runs on the appliance, with each strategy and without admission control."""

from functools import partial

from lab.files.run_summary import PlannedRun
from lab.spec.cases import AnyCase
from lab.studies.live import ApplianceStudy, LivePart
from lab.studies.sbac.cases import LIVE_MEANS, LiveCases, live_spec
from lab.studies.sbac.measures import live_metrics
from lab.studies.sbac.study import STUDY


def parts(cases: LiveCases, seed: int, repetitions: int) -> list[LivePart]:
    """Return a comparison for each mean session length."""

    def part(mean: int) -> LivePart:
        def case_of(planned: PlannedRun) -> AnyCase:
            assert planned.rho is not None
            return cases.case(planned.policy, mean, planned.rho)

        spec = live_spec(mean, cases.scale.loads, seed=seed, repetitions=repetitions)
        return LivePart(spec, case_of, live_metrics)

    return [part(mean) for mean in LIVE_MEANS]


live_study = partial(ApplianceStudy, STUDY, parts)
