"""Robustness and hysteresis, carried out: simulated where missing, then reported.

Owns: which study is which, what is said meanwhile. Must not know: any scenario, any figure.
"""

import os
import time

from lab.experiments import own_policies
from lab.experiments.durations import duration
from lab.experiments.errors import ExperimentError
from lab.experiments.leaderboard import hysteresis_study, robustness_study
from lab.experiments.progress_file import progress_file
from lab.experiments.reproduction import making
from lab.experiments.reproduction.store import Store
from lab.experiments.results import write_copies
from lab.experiments.spec import Spec
from lab.experiments.terminal import GridProgress, console, show
from runtime import settings

STUDIES = {"robustness": robustness_study.study, "hysteresis": hysteresis_study.study}


def carry_out_study(
    part: str, base: Spec, *, quick: bool, fresh: bool, processes: int | None, broker: str | None
) -> None:
    """Of the policies of `base`, with its seeds; raises ExperimentError."""
    lab = settings.load()
    options = making.Options(
        quick=quick,
        seed=base.seed,
        repetitions=base.repetitions,
        processes=processes or len(os.sched_getaffinity(0)),
        celery_broker=broker,
        fresh=fresh,
    )
    planned = making.prepare(STUDIES[part](base, quick=quick), lab.results_dir, options)
    _keep_own(planned.store, base)
    progress_file.tell(now=True, folder=str(planned.store.path))
    done = len(planned.simulations) - len(planned.missing)
    if planned.resumed:
        console.print(f"Resuming: {done} of {len(planned.simulations)} simulations are done.")
    expected = "" if broker else f", about {duration(making.expected_real_s(planned))}"
    console.print(
        f"{part.capitalize()}: {len(planned.missing)} simulations on {options.where}{expected}. "
        f"Interrupted, the same command resumes.\nResults: {planned.store.path}"
    )
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


def _keep_own(store: Store, spec: Spec) -> None:
    """Copies of students' policies, whatever becomes of the files."""
    try:
        write_copies(store.path, own_policies.named_copies(own_policies.of_spec(spec)))
    except OSError as fault:
        raise ExperimentError(f"{store.path} cannot be written ({fault.strerror}).") from None
