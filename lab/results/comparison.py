"""The result of a comparison: the spec, the plan and the runs, in the files that
docs/experiments.md lists. Files are written completely or not at all, except events.jsonl and
figures."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.engines.capacity import Capacity
from lab.errors import ExperimentError, SpecError
from lab.files import documents
from lab.files.conclusion import CONCLUSION_FILE, Conclusion
from lab.files.documents import read_json
from lab.files.run_folder import RUN_FILE, RunFolder
from lab.files.run_summary import PlannedRun
from lab.results.result import Result, made_here
from lab.spec import own_policies
from lab.spec import text as spec_text
from lab.spec.experiment import Spec, checked_without_files, read_spec

_PLAN = "plan.json"


class ComparisonResult(Result):
    """The result of a comparison of policies with the same customers; every run has a folder."""

    @classmethod
    def create(
        cls, results_dir: Path, spec: Spec, facts: Mapping[str, Any], plan: Iterable[PlannedRun]
    ) -> "ComparisonResult":
        """Create the folder with the spec, the plan and all facts that are known before the first
        run. Raises ExperimentError if the folder cannot be written."""
        return cls._create(
            results_dir,
            re.sub(r"[^a-z0-9.]+", "-", spec.heading.lower()).strip("-")[:60],
            folder="runs",
            files={
                **{f"{name}.json": content for name, content in facts.items()},
                "spec.toml": spec.to_toml(),
                _PLAN: [run.model_dump() for run in plan],
            },
            policies=own_policies.named_copies(own_policies.of_spec(spec)),
        )

    @classmethod
    def open(cls, path: Path) -> "ComparisonResult":
        """Open the folder of a comparison; raises SpecError if it does not contain one."""
        if not (path / _PLAN).is_file():
            raise SpecError(
                "FOLDER",
                f"{path} is not a comparison (plan.json is missing)",
                allowed="the name or the folder of a result of `doorbuster run`, `compare` or "
                "`simulate`",
            )
        return cls(path)

    def spec(self) -> Spec:
        """Return the spec of the runs; raises ExperimentError if it is missing or damaged."""
        path = self.path / "spec.toml"
        text = documents.text_of(path, spec_text.MOST_BYTES)
        try:
            own_policies.remember_copies(self.path)
            return checked_without_files(read_spec(text, str(path)), str(path))
        except (OSError, UnicodeDecodeError, RecursionError) as fault:
            raise ExperimentError(f"{path} cannot be read: {fault}") from None

    def facts(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file by its name: machine, versions or capacity."""
        facts: dict[str, Any] = read_json(self.path / f"{name}.json")
        return facts

    def capacity(self, spec: Spec | None = None) -> Capacity | None:
        """Return the capacity; None in a closed loop. A caller that has already read the folder's
        spec passes it as `spec`. Raises ExperimentError if spec.toml or capacity.json is missing or
        damaged.
        """
        if (spec or self.spec()).clients:
            return None
        return documents.read(self.path / "capacity.json", Capacity)

    def capacity_rps(self) -> float | None:
        """Return the capacity to which ρ refers, in requests per paper second; None in a closed
        loop. Raises ExperimentError as `capacity` does.
        """
        capacity = self.capacity()
        return capacity.median_rps if capacity else None

    def conclusion(self) -> Conclusion:
        """Return the conclusion; raises ExperimentError if it is missing or damaged. A result of an
        older version has none until `doorbuster results draw` draws the result again."""
        return documents.read(self.path / CONCLUSION_FILE, Conclusion)

    def plan(self) -> list[PlannedRun]:
        """Return all runs in the plan's order; raises ExperimentError if plan.json is missing or
        damaged."""
        return documents.read(self.path / _PLAN, list[PlannedRun])

    def run(self, planned: PlannedRun) -> RunFolder:
        """Return the folder of a planned run, even if it does not exist yet."""
        return RunFolder(self.path / "runs" / planned.folder)

    def missing(self) -> list[PlannedRun]:
        """Return the missing runs, in the order of the plan."""
        return [planned for planned in self.plan() if not self.run(planned).is_whole]

    def run_files(self, plan: Iterable[PlannedRun]) -> Iterator[str]:
        """Yield the paths of all run.json files, existing or not; fast for thousands of runs."""
        runs = os.path.join(self.path, "runs")
        return (os.path.join(runs, planned.folder, RUN_FILE) for planned in plan)

    def whole_runs(self) -> list[tuple[PlannedRun, RunFolder]]:
        """Return the complete runs, in the order of the plan."""
        runs = [(planned, self.run(planned)) for planned in self.plan()]
        return [(planned, run) for planned, run in runs if run.is_whole]

    @classmethod
    def unfinished(cls, results_dir: Path, spec: Spec) -> "ComparisonResult | None":
        """Return this machine's newest incomplete result of the same spec, or None."""
        for path in made_here(results_dir, _PLAN):
            result = cls(path)
            try:
                if result.spec().fingerprint == spec.fingerprint and result.missing():
                    return result
            except ExperimentError:
                continue  # an old or damaged result cannot be resumed
        return None

    @classmethod
    def newest(cls, results_dir: Path) -> "ComparisonResult":
        """Return the newest comparison of this machine; raises ExperimentError if there is none."""
        for path in made_here(results_dir, _PLAN):
            return cls(path)
        raise ExperimentError(f"{results_dir} has no comparison yet; `make compare` creates one.")
