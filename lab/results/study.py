"""The result of a study, with one file of metrics for each simulation or run.

results/<when>-reproduce-<paper>[-quick]/
    reproduction.json                 paper, options, plan, versions, machine
    policies/*.py                     copies of students' policies
    simulations/<case>-seed<n>.json   case, seed, metrics; written as a whole
    attempts/<case>-seed<n>.parquet   only with --logs
    report.html  figures/*.png, *.svg, *.csv  tables/*.csv
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.results.metrics import Metrics, Results
from lab.results.result import Result, made_here
from lab.spec.cases import AnyCase

_FACTS = "reproduction.json"


def reproduction_title(folder_name: str, facts: Mapping[str, Any]) -> str:
    """Return the title in a reproduction's `facts`. Only included results have one; the title of
    another reproduction consists of the words in the name of its folder.
    """
    words = re.sub(r"^\d{8}T\d{6}Z-", "", folder_name).replace("-", " ")
    return str(facts.get("title") or words[:1].upper() + words[1:])


@dataclass(frozen=True, slots=True)
class Simulation:
    """One planned simulation: a case and a seed."""

    case: AnyCase
    seed: int

    @property
    def name(self) -> str:
        """The name of the simulation's files, without suffix."""
        return f"{self.case.id}-seed{self.seed}"


class StudyResult(Result):
    """The result folder of a study."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.simulations = path / "simulations"
        self.attempts = path / "attempts"

    @classmethod
    def create(
        cls,
        results_dir: Path,
        name: str,
        facts: Mapping[str, Any],
        policies: Mapping[str, str] | None = None,
    ) -> "StudyResult":
        """Create the folder with all facts that are known before the first simulation. `policies`
        are the texts of students' policies by file name. Raises ExperimentError if the folder
        cannot be written."""
        return cls._create(
            results_dir, name, folder="simulations", files={_FACTS: facts}, policies=policies or {}
        )

    @classmethod
    def unfinished(cls, results_dir: Path, facts: Mapping[str, Any]) -> "StudyResult | None":
        """Return this machine's newest result that has these facts but no report yet, or None."""
        for path in made_here(results_dir, _FACTS):
            result = cls(path)
            try:
                if result.facts() == facts and not result.report_file.exists():
                    return result
            except ExperimentError:
                continue  # a damaged folder cannot be resumed
        return None

    def facts(self) -> dict[str, Any]:
        """Return the facts that were known before the first simulation; raises ExperimentError if
        their file is missing or damaged.
        """
        found = read_json(self.path / _FACTS)
        if not isinstance(found, dict):
            raise ExperimentError(f"{self.path / _FACTS} does not describe a reproduction.")
        return found

    def has(self, simulation: Simulation) -> bool:
        return self._file(simulation).is_file()

    def missing(self, planned: Iterable[Simulation]) -> list[Simulation]:
        """Return the simulations of a plan that the result lacks, in the plan's order."""
        return [simulation for simulation in planned if not self.has(simulation)]

    def keep(self, simulation: Simulation, metrics: Metrics) -> None:
        """Write the metrics of a simulation; the file is written completely or not at all."""
        known = {"case": simulation.case.as_json(), "seed": simulation.seed}
        write_json(self._file(simulation), {**known, "metrics": metrics})

    def results(self, simulations: Iterable[Simulation]) -> Results:
        """Return the metrics of all complete simulations among these."""
        return Results.of_runs(
            (one.case, one.seed, read_json(self._file(one))["metrics"])
            for one in simulations
            if self.has(one)
        )

    def task(self, simulation: Simulation, *, logs: bool) -> dict[str, Any]:
        """Return the task that a worker receives for a simulation."""
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
    """Return a simulation for every different case in every repetition. Repetitions follow one
    another. In each repetition, the longest simulations come first, so that all cores end at about
    the same time."""
    unique = sorted(
        {case.id: case for case in cases}.values(), key=lambda case: -case.expected_requests()
    )
    return [
        Simulation(case, seed + repetition) for repetition in range(repetitions) for case in unique
    ]
