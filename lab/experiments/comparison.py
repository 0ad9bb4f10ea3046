"""A comparison: several policies against the same customers, interleaved, resumable.

Owns: the plan (which runs, in which order), resuming, what is missing of it, who may make it.
Must not know: how a run is made or drawn.
"""

import contextlib
import fcntl
import random
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from lab.experiments.errors import ExperimentError
from lab.experiments.machine import describe_versions
from lab.experiments.results import PlannedRun, ResultFolder, unfinished
from lab.experiments.spec import Spec
from lab.experiments.terminal import console

_LAST_ANSWERS_S = 60.0
"""Paper seconds until the last who came have got their answers, or have left."""


def resumed(results_dir: Path, spec: Spec, *, fresh: bool) -> ResultFolder | None:
    """The folder of the same experiment that was interrupted, which is said; None to begin anew.

    Raises ExperimentError when another version began it: its runs could not be compared.
    """
    folder = None if fresh else unfinished(results_dir, spec)
    if folder is None:
        return None
    done = len(folder.whole_runs())
    console.print(f"Resuming {folder.path}: {done} of {len(folder.plan())} runs are done.")
    if folder.facts("versions") != describe_versions():
        raise ExperimentError(
            f"{folder.path} was begun with another version of Doorbuster or its libraries; "
            "begin anew with --fresh."
        )
    return folder


@contextlib.contextmanager
def alone(folder: ResultFolder) -> Iterator[None]:
    """While nobody else makes runs of this comparison; raises ExperimentError if somebody does."""
    with (folder.path / "plan.json").open("rb") as plan_file:
        try:
            fcntl.flock(plan_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExperimentError(
                f"{folder.path} is being made by another process right now; wait for it, or begin "
                "one of your own with --fresh."
            ) from None
        yield


def plan(spec: Spec) -> list[PlannedRun]:
    """Every policy at every ρ in every repetition; runs of one repetition share a seed.

    The order within a repetition is random (from the spec's seed), so that a machine that slows
    down hits no policy more than another; a repetition is finished before the next begins, so
    that an interrupted comparison has whole ones. Runs that are made at once follow each other;
    which policy is the first, and has the first shop, is random, too.
    """
    rng = random.Random(f"{spec.seed}/order of runs")
    ordered = []
    for repetition in range(spec.repetitions):
        cells = [(policy.key, rho) for rho in spec.load.rhos for policy in spec.policy]
        rng.shuffle(cells)
        if spec.at_once:
            rhos = list(dict.fromkeys(rho for _, rho in cells))
            cells.sort(key=lambda cell: rhos.index(cell[1]))
        ordered += [(key, rho, spec.seed + repetition) for key, rho in cells]
    return [PlannedRun(i, *cell) for i, cell in enumerate(ordered, start=1)]


def missing(folder: ResultFolder) -> list[PlannedRun]:
    """The runs still to be made."""
    return [planned for planned in folder.plan() if not folder.run(planned).is_whole]


def missing_groups(folder: ResultFolder, spec: Spec) -> list[list[PlannedRun]]:
    """The same in groups that are made at once: of one run each, unless the spec has it otherwise.

    Of those at once all are made again when one is missing: what they share is the moment.
    """
    if not spec.at_once:
        return [[planned] for planned in missing(folder)]
    groups = groupby(folder.plan(), key=lambda planned: (planned.rho, planned.seed))
    found = [list(group) for _, group in groups]
    return [group for group in found if not all(folder.run(one).is_whole for one in group)]


def expected_real_s(spec: Spec, runs: Iterable[PlannedRun], capacity_rps: float | None) -> float:
    """About how long these runs take: arrivals, the last sessions, and the orphans after them.

    Real seconds; runs at once take the time of one.
    """
    paper_s = sum(_expected_s(spec, run, capacity_rps) for run in runs)
    return paper_s / spec.time_scale / (len(spec.policy) if spec.at_once else 1)


def _expected_s(spec: Spec, run: PlannedRun, capacity_rps: float | None) -> float:
    """The same for one run, in paper seconds."""
    arrivals_s = spec.load.arrivals_s
    if run.rho is None or capacity_rps is None:  # a closed loop: everybody leaves at its end
        return (arrivals_s or 0.0) + _LAST_ANSWERS_S
    model = spec.customers.as_model()
    if arrivals_s is None:
        arrivals_s = (spec.load.sessions or 0) / model.session_rate(run.rho, capacity_rps)
    return arrivals_s + _LAST_ANSWERS_S + model.mean_requests() * model.think_time_mean_s


def expected_sessions(spec: Spec, run: PlannedRun, capacity_rps: float | None) -> float:
    """About how many sessions a run has; in a closed loop a client is one."""
    if spec.clients:
        return 2 * spec.clients.per_set
    assert run.rho is not None
    assert capacity_rps is not None
    return spec.load.expected_sessions(
        spec.customers.as_model().session_rate(run.rho, capacity_rps)
    )
