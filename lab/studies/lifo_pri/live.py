"""LIFO-Pri's live runs on the appliance: the single queue in front of a CPU-intensive page."""

from collections.abc import Sequence
from functools import partial

from lab.files.run_summary import PlannedRun
from lab.spec.cases import AnyCase
from lab.studies.lifo_pri.cases import EFFECTIVE_RHO, FIG3_RHO, Cases, live_spec
from lab.studies.lifo_pri.study import STUDY
from lab.studies.live import ApplianceStudy, LivePart
from lab.studies.measures import page_metrics


def parts(cases: Cases, seed: int, repetitions: int) -> list[LivePart]:
    """Return the comparisons: a timeout of 20 s at both loads, and 40 s at overload."""

    def part(timeout_s: int, rhos: Sequence[float]) -> LivePart:
        def case_of(planned: PlannedRun) -> AnyCase:
            assert planned.rho is not None
            return cases.single(planned.policy, planned.rho, timeout_s)

        return LivePart(
            live_spec(timeout_s, rhos, cases.scale.requests, seed=seed, repetitions=repetitions),
            case_of,
            lambda folder, run, capacity_rps: page_metrics(folder.attempts(), run),
        )

    return [part(20, (FIG3_RHO, EFFECTIVE_RHO)), part(40, (EFFECTIVE_RHO,))]


live_study = partial(ApplianceStudy, STUDY, parts)
