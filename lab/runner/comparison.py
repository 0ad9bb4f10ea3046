"""Carry out or resume a comparison: runs of several policies with the same customers, in random
order.
"""

import random
from abc import abstractmethod
from collections.abc import Mapping
from importlib import import_module
from itertools import groupby
from typing import Any, ClassVar

from lab.engines import capacity as capacities
from lab.engines.capacity import Capacity
from lab.errors import ExperimentError
from lab.files.run_summary import PlannedRun
from lab.machine.description import describe_versions
from lab.report.terminal import console
from lab.results.comparison import ComparisonResult
from lab.runner.runner import Experiment, carry_out
from lab.spec.experiment import Spec, checked

_ENGINES = {
    "live": "lab.runner.live:LiveComparison",
    "simulated": "lab.runner.simulated:SimulatedComparison",
}
"""The class for comparisons on each engine, imported only when needed."""


def compare(
    spec: Spec, *, fresh: bool, processes: int | None = None, broker: str | None = None
) -> ComparisonResult:
    """Carry out the missing runs of a comparison on the spec's engine.

    Simulations run on `processes` cores (by default on all) or, if a `broker` is given, on the
    Celery workers that use this broker. Raises ExperimentError if a run fails.
    """
    module, _, name = _ENGINES[spec.engine].partition(":")
    engine: type[Comparison] = getattr(import_module(module), name)
    return carry_out(engine(spec, processes=processes, broker=broker), fresh=fresh)


class Comparison(Experiment[ComparisonResult]):
    """The execution of a comparison on one engine."""

    same_machine: ClassVar[bool]
    """Whether all runs of the comparison must be on the same machine with the same settings."""

    def __init__(self, spec: Spec, *, processes: int | None, broker: str | None) -> None:
        super().__init__()
        self.spec = checked(spec, "spec")
        self.processes, self.broker = processes, broker

    @property
    def name(self) -> str:
        """The spec's fingerprint."""
        return self.spec.fingerprint

    @abstractmethod
    def machine(self) -> Mapping[str, Any]:
        """Return a description of the machine that runs the comparison."""

    @abstractmethod
    def capacity(self) -> Capacity:
        """Determine the capacity, which only an open loop has, and print it."""

    def unfinished(self) -> ComparisonResult | None:
        """Return the interrupted comparison of the same spec, and print its progress.

        Raises ExperimentError if the comparison began with another version or, with
        `same_machine`, on another machine, because its runs would not be comparable.
        """
        result = ComparisonResult.unfinished(self.lab.results_dir, self.spec)
        if result is None:
            return None
        planned = len(result.plan())
        done = planned - len(result.missing())
        console.print(f"Resuming {result.path}: {done} of {planned} runs are done.")
        if result.facts("versions") != describe_versions():
            raise ExperimentError(
                f"{result.path} was begun with another version of Doorbuster or its libraries; "
                "start again with --fresh."
            )
        if self.same_machine and result.facts("machine") != self.machine():
            raise ExperimentError(
                f"{result.path} was begun on another machine or with other settings; "
                "start again with --fresh."
            )
        return result

    def begin(self) -> ComparisonResult:
        """Determine the capacity, then create the result's folder."""
        facts = {
            "machine": self.machine(),
            "versions": describe_versions(),
            "capacity": capacities.facts_of(None if self.spec.clients else self.capacity()),
        }
        return ComparisonResult.create(self.lab.results_dir, self.spec, facts, plan(self.spec))

    def announce(self, result: ComparisonResult, runs: int, how: str) -> None:
        """Print the number of missing runs and the result's folder."""
        console.print(
            f"{runs} runs of {self.spec.load.words()}, {how}. To resume after an interruption, "
            f"repeat the command.\nResults: {result.path}"
        )


def plan(spec: Spec) -> list[PlannedRun]:
    """Return the planned runs: every policy at every ρ in every repetition.

    All runs of a repetition have the same seed. Repetitions follow one another. The order of runs
    in a repetition is random (from the spec's seed), so a machine that slows down affects all
    policies equally. Simultaneous runs are next to each other. The random order of simultaneous
    runs determines the shop of each policy.
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
    return [
        PlannedRun(number=i, policy=key, rho=rho, seed=seed)
        for i, (key, rho, seed) in enumerate(ordered, start=1)
    ]


def missing_groups(result: ComparisonResult, spec: Spec) -> list[list[PlannedRun]]:
    """Return the missing runs in groups: a group is a single run or, with `at_once`, all
    simultaneous runs.

    If one of several simultaneous runs is missing, all of them run again.
    """
    if not spec.at_once:
        return [[planned] for planned in result.missing()]
    groups = groupby(result.plan(), key=lambda planned: (planned.rho, planned.seed))
    found = [list(group) for _, group in groups]
    return [group for group in found if not all(result.run(one).is_whole for one in group)]
