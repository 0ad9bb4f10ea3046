"""A comparison: several policies against the same customers, interleaved, resumable.

Owns: the plan (which runs, in which order), resuming, what is missing of it, who may make it.
Must not know: how a run is made or drawn.
"""

import contextlib
import random
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from lab.errors import ExperimentError
from lab.files.run_folder import PlannedRun
from lab.machine.description import describe_versions
from lab.report.terminal import console
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from runtime import private_file

_LAST_ANSWERS_S = 60.0
"""Paper seconds until the last who came have got their answers, or have left."""


def resumed(results_dir: Path, spec: Spec, *, fresh: bool) -> ComparisonResult | None:
    """The folder of the same experiment that was interrupted, which is said; None to begin anew.

    Raises ExperimentError when another version began it: its runs could not be compared.
    """
    folder = None if fresh else ComparisonResult.unfinished(results_dir, spec)
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
def alone(folder: ComparisonResult) -> Iterator[None]:
    """While nobody else makes runs of this comparison; raises ExperimentError if somebody does."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(private_file.locked(folder.path / ".lock", waits=False))
        except BlockingIOError:
            raise ExperimentError(
                f"{folder.path} is being made by another process right now; wait for it, or begin "
                "one of your own with --fresh."
            ) from None
        except OSError as fault:
            raise ExperimentError(
                f"{folder.path} cannot be added to ({fault.strerror or fault}); begin a new result "
                "with --fresh."
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


def missing(folder: ComparisonResult) -> list[PlannedRun]:
    """The runs still to be made."""
    return [planned for planned in folder.plan() if not folder.run(planned).is_whole]


def missing_groups(folder: ComparisonResult, spec: Spec) -> list[list[PlannedRun]]:
    """The same in groups that are made at once: of one run each, unless the spec has it otherwise.

    Of those at once all are made again when one is missing: what they share is the moment.
    """
    if not spec.at_once:
        return [[planned] for planned in missing(folder)]
    groups = groupby(folder.plan(), key=lambda planned: (planned.rho, planned.seed))
    found = [list(group) for _, group in groups]
    return [group for group in found if not all(folder.run(one).is_whole for one in group)]


class Expectation:
    """What the runs of a spec are expected to take.

    It is calculated once per ρ and then multiplied: its cost does not depend on the repetitions
    or the policies, so that a spec's size is known before any of its runs is planned.
    """

    def __init__(self, spec: Spec, capacity_rps: float | None) -> None:
        """`capacity_rps`: what ρ = 1 is; None in a closed loop."""
        self._spec = spec
        self._sessions: dict[float | None, float] = {}
        self._paper_s: dict[float | None, float] = {}
        for rho in spec.load.rhos:
            self._sessions[rho], self._paper_s[rho] = _expected(spec, rho, capacity_rps)

    def sessions(self, run: PlannedRun) -> float:
        """About how many sessions a run has; a client of a closed loop is one."""
        return self._sessions[run.rho]

    def real_s(self, runs: Iterable[PlannedRun]) -> float:
        """About how long these runs take live: arrivals, the last sessions, orphans after them.

        Real seconds; runs at once take the time of one.
        """
        return self._real_s(sum(self._paper_s[run.rho] for run in runs))

    @property
    def all_real_s(self) -> float:
        """The same for all runs of the spec."""
        return self._real_s(sum(self._paper_s.values()) * self._of_each_rho)

    @property
    def all_requests(self) -> float:
        """About how many requests all runs of the spec have."""
        return sum(map(self.requests_at, self._sessions)) * self._of_each_rho

    def requests_at(self, rho: float | None) -> float:
        """About how many requests one run at `rho` has."""
        spec = self._spec
        if spec.clients:
            thinks = (spec.load.duration_s or 0.0) / spec.clients.think_time_mean_s
            each = max(1.0, thinks)
        else:
            each = spec.customers.as_model().mean_requests()
        return self._sessions[rho] * each

    @property
    def _of_each_rho(self) -> int:
        return len(self._spec.policy) * self._spec.repetitions

    def _real_s(self, paper_s: float) -> float:
        spec = self._spec
        return paper_s / spec.time_scale / (len(spec.policy) if spec.at_once else 1)


def _expected(spec: Spec, rho: float | None, capacity_rps: float | None) -> tuple[float, float]:
    """(sessions, paper seconds) of one run at `rho`."""
    arrivals_s = spec.load.arrivals_s
    sessions = 2.0 * spec.clients.per_set if spec.clients else 0.0
    if rho is None or capacity_rps is None:  # a closed loop: everybody leaves at its end
        return sessions, (arrivals_s or 0.0) + _LAST_ANSWERS_S
    model = spec.customers.as_model()
    rate = model.session_rate(rho, capacity_rps)
    if arrivals_s is None:
        arrivals_s = (spec.load.sessions or 0) / rate
    after_s = _LAST_ANSWERS_S + model.mean_requests() * model.think_time_mean_s
    return spec.load.expected_sessions(rate), arrivals_s + after_s
