"""Robustness, hysteresis and the bound, carried out: simulated where missing, then reported.

Owns: which study is which, what is said meanwhile. Must not know: any scenario, any figure.
"""

import os
import time
from collections.abc import Sequence

from lab.baselines.sheets import PEERS
from lab.leaderboard import TUNING_PART, bound_study, hysteresis_study, robustness_study, tuning
from lab.machine.progress_file import progress_file
from lab.report.terminal import GridProgress, console, show
from lab.runner import simulations as making
from lab.runner.estimates import IDLE
from lab.runner.stopwatch import stopwatch
from lab.spec import own_policies
from lab.spec.experiment import Spec
from lab.studies.measures import simulate_case
from runtime import settings

STUDIES = {
    "robustness": robustness_study.study,
    "hysteresis": hysteresis_study.study,
    "bound": bound_study.study,
}


def carry_out_study(
    part: str,
    base: Spec,
    *,
    quick: bool,
    fresh: bool,
    processes: int | None,
    broker: str | None,
    proxies: Sequence[str] = tuple(PEERS),
) -> None:
    """Carry it out for the policies of `base`, with its seeds; raises ExperimentError.

    `proxies`: of a search for settings, the models of proxies that are searched, too.
    """
    lab = settings.load()
    options = making.Options(
        simulate=simulate_case,
        quick=quick,
        seed=base.seed,
        repetitions=base.repetitions,
        processes=processes or len(os.sched_getaffinity(0)),
        celery_broker=broker,
        fresh=fresh,
    )
    if part == TUNING_PART:
        study = tuning.study(base, proxies=proxies)
    else:
        study = STUDIES[part](base, quick=quick)
    own = own_policies.named_copies(own_policies.of_spec(base))
    planned = making.prepare(study, lab.results_dir, options, own)
    progress_file.tell(now=True, folder=str(planned.store.path))
    done = len(planned.simulations) - len(planned.missing)
    if planned.resumed:
        console.print(f"Resuming: {done} of {len(planned.simulations)} simulations are done.")
    estimate = None if broker else making.expected(planned, lab)
    expected = "" if estimate is None else f", {estimate.words} with the report, {IDLE}"
    console.print(
        f"{part.capitalize()}: {len(planned.missing)} simulations on {options.where}{expected}. "
        f"Interrupted, the same command resumes.\nResults: {planned.store.path}"
    )
    making.begin(planned, estimate)
    began_s = time.monotonic()
    with GridProgress([one.case.expected_requests() for one in planned.missing]) as progress:
        making.carry_out(planned, progress.done)
    took_s = time.monotonic() - began_s
    page = making.finish(planned, lab, took_s)
    results = planned.store.results(planned.simulations)
    for exhibit in reversed(planned.study.exhibits):
        for table in reversed(exhibit.tables):
            show(table.table(results))
    for claim in planned.study.claims:
        found, holds = claim.decide(results)
        if not holds:
            verdict = "Undecided" if holds is None else "Does not hold"
            console.print(f"{verdict}: {claim.text}: {found} (required: {claim.required})")
    console.print(f"Simulated in {took_s / 60:.1f} minutes.\nReport: {page}")
    stopwatch.end(lab)
