"""The results of a reproduction while they come in: one file per simulation.

Owns: the folder, its files, which simulations are still missing, and handing results out by case.
Must not know: what a figure does with them, how simulations are spread over cores.

    results/<when>-reproduce-<paper>[-quick]/
        reproduction.json                 paper, options, plan, versions, machine
        simulations/<case>-seed<n>.json   case, seed, metrics; written whole
        attempts/<case>-seed<n>.parquet   only with --logs
        report.html  figures/*.png, *.svg, *.csv  tables/*.csv
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.intervals import Estimate, estimate
from lab.results.folder import made_here
from lab.spec.cases import AnyCase

Metrics = Mapping[str, Any]

Value = Callable[[Metrics], float | None]
"""A figure of merit: read off the metrics of one simulation or run; None where it has none."""

_FACTS = "reproduction.json"


@dataclass(frozen=True, slots=True)
class Simulation:
    """One simulation that is planned: a case and a seed."""

    case: AnyCase
    seed: int

    @property
    def name(self) -> str:
        """The stem of its files."""
        return f"{self.case.id}-seed{self.seed}"


class Results:
    """Metrics by case, the repetitions in the order of their seeds, each with its `seed`."""

    def __init__(self, found: Mapping[str, Sequence[Metrics]]) -> None:
        self._found = found

    @classmethod
    def of_runs(cls, runs: Iterable[tuple[AnyCase, int, Metrics]]) -> "Results":
        """Of (case, seed, metrics), in any order."""
        found: dict[str, list[Metrics]] = {}
        for case, seed, metrics in sorted(runs, key=lambda run: run[1]):
            found.setdefault(case.id, []).append({"seed": seed, **metrics})
        return cls(found)

    def number(self, cases: Iterable[AnyCase]) -> int:
        """Return how many simulations or runs of these cases there are, each case once."""
        return sum(len(self._found.get(id, ())) for id in {case.id for case in cases})

    def of(self, case: AnyCase) -> Sequence[Metrics]:
        """All repetitions there are; empty while none is."""
        return self._found.get(case.id, ())

    def together(self, *cases: AnyCase) -> dict[int, tuple[Metrics, ...]]:
        """By seed, of the seeds that all these cases have: the repetition of each."""
        by_seed = [{metrics["seed"]: metrics for metrics in self.of(case)} for case in cases]
        shared = set.intersection(*(set(each) for each in by_seed)) if by_seed else set()
        return {seed: tuple(each[seed] for each in by_seed) for seed in sorted(shared)}

    def beside(self, other: "Results") -> "Results":
        """These and `other`'s, of other cases."""
        return Results({**self._found, **other._found})

    def estimate(self, case: AnyCase, value: Value) -> Estimate | None:
        """Mean and 95 % interval of a figure; None where no repetition has it."""
        values = [found for metrics in self.of(case) if (found := value(metrics)) is not None]
        return estimate(values) if values else None

    def mean(self, case: AnyCase, value: Value) -> float | None:
        """The mean alone."""
        found = self.estimate(case, value)
        return found and found.mean


class Store:
    """The result folder of one reproduction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.simulations = path / "simulations"
        self.attempts = path / "attempts"
        self.figures = path / "figures"
        self.tables = path / "tables"
        self.report_file = path / "report.html"

    @classmethod
    def create(cls, results_dir: Path, name: str, facts: Mapping[str, Any]) -> "Store":
        """A new folder; raises ExperimentError when it cannot be written."""
        when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        store = cls(results_dir / f"{when}-{name}")
        for number in count(2):
            if not store.path.exists():
                break  # two within a second are told apart by a number
            store = cls(results_dir / f"{when}-{name}-{number}")
        try:
            store.simulations.mkdir(parents=True)
            write_json(store.path / _FACTS, facts)
        except OSError as fault:
            raise ExperimentError(
                f"The result folder {store.path} cannot be written ({fault.strerror}). "
                "Choose another with DOORBUSTER_RESULTS_DIR."
            ) from None
        return store

    @classmethod
    def unfinished(cls, results_dir: Path, facts: Mapping[str, Any]) -> "Store | None":
        """The newest folder begun here with the same facts whose report is not written yet."""
        for path in made_here(results_dir, _FACTS):
            store = cls(path)
            try:
                if store.facts() == facts and not store.report_file.exists():
                    return store
            except ExperimentError:
                continue  # a damaged folder is not ours to resume
        return None

    def facts(self) -> dict[str, Any]:
        """What was known before the first simulation; raises ExperimentError when damaged."""
        found = read_json(self.path / _FACTS)
        if not isinstance(found, dict):
            raise ExperimentError(f"{self.path / _FACTS} is no description of a reproduction.")
        return found

    def has(self, simulation: Simulation) -> bool:
        """Whether it has been made."""
        return self._file(simulation).is_file()

    def keep(self, simulation: Simulation, metrics: Metrics) -> None:
        """Its metrics, whole or not at all."""
        content = {
            "case": simulation.case.as_json(),
            "seed": simulation.seed,
            "metrics": metrics,
        }
        write_json(self._file(simulation), content)

    def results(self, simulations: Iterable[Simulation]) -> Results:
        """What of these has been made."""
        return Results.of_runs(
            (one.case, one.seed, read_json(self._file(one))["metrics"])
            for one in simulations
            if self.has(one)
        )

    def task(self, simulation: Simulation, *, logs: bool) -> dict[str, Any]:
        """What a worker needs for it."""
        attempts_file = self.attempts / f"{simulation.name}.parquet"
        if logs:
            self.attempts.mkdir(exist_ok=True)
        return {
            "case": simulation.case.as_json(),
            "seed": simulation.seed,
            "attempts_file": str(attempts_file) if logs else None,
        }

    def _file(self, simulation: Simulation) -> Path:
        return self.simulations / f"{simulation.name}.json"


def plan(cases: Iterable[AnyCase], *, seed: int, repetitions: int) -> list[Simulation]:
    """Every case in every repetition, each case once, however many figures name it.

    A repetition is finished before the next begins, so that an interrupted plan has whole ones;
    within it the longest come first, so that no core is left alone with one at the end.
    """
    unique = sorted(
        {case.id: case for case in cases}.values(), key=lambda case: -case.expected_requests()
    )
    return [
        Simulation(case, seed + repetition) for repetition in range(repetitions) for case in unique
    ]
