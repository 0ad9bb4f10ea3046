"""Result folders: where everything of a run and of a comparison is kept.

Owns: names and forms of the files, and writing them so that a file is there whole or not at all.
Must not know: how they came about or how they are drawn.

    results/<when>-<name>/
        spec.toml  machine.json  versions.json  capacity.json  plan.json
        policies/*.py (copies of students' own)
        runs/<number>-<policy>-rho<ρ>-seed<seed>/       (of a closed loop without rho<ρ>)
            attempts.parquet  samples.parquet  events.jsonl
            run.json (written last: the run is whole)
        tables.md  tables.json  figures/*.png, *.svg
"""

import base64
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lab.experiments import own_policies
from lab.experiments.errors import ExperimentError, SpecError
from lab.experiments.spec import Spec, read_spec
from loadgen import load_factor
from loadgen.attempts import AttemptsFileError, read_attempts

HIGHEST_LOAD_FACTOR = load_factor.HIGHEST


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a comparison, before it is made."""

    number: int
    policy: str
    rho: float | None
    """None in a closed loop."""
    seed: int

    @property
    def folder(self) -> str:
        """The name of its folder."""
        load = "" if self.rho is None else f"-rho{self.rho:g}"
        return f"{self.number:03}-{self.policy}{load}-seed{self.seed}"

    def title(self, of: int) -> str:
        """For people: `[3/9] sq at ρ = 1.4, seed 1`."""
        load = "" if self.rho is None else f" at ρ = {self.rho:g}"
        return f"[{self.number}/{of}] {self.policy}{load}, seed {self.seed}"


def _planned(number: object, policy: object, rho: object, seed: object) -> PlannedRun:
    """Of the values of a file; raises TypeError for others than a plan has."""
    if (
        isinstance(number, int)
        and isinstance(policy, str)
        and (rho is None or isinstance(rho, int | float))
        and isinstance(seed, int)
    ):
        return PlannedRun(number, policy, rho, seed)
    raise TypeError(f"no run: {(number, policy, rho, seed)!r:.80}")


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attempts_file = path / "attempts.parquet"
        self.samples_file = path / "samples.parquet"
        self.events_file = path / "events.jsonl"
        self.summary_file = path / "run.json"
        self.load_factor_file = path / "load-factor"
        """While a live run goes on: how many times their rate sessions shall arrive."""
        self.lane_file = path / "lane.json"
        """While it goes on beside others: where its shop is (`lane.Lane`)."""
        self.peer_file = path / "peer.json"
        """While it goes on behind a peer: what that says of itself (`peers.shown`)."""

    def clear(self) -> None:
        """Empty: what an interrupted attempt at the same run left is removed."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)

    def pack(self) -> dict[str, str]:
        """Its files by name, in Base64: to be sent to where they are kept."""
        return {
            file.name: base64.b64encode(file.read_bytes()).decode("ascii")
            for file in sorted(self.path.iterdir())
        }

    def unpack(self, files: Mapping[str, str]) -> int:
        """Write what `pack` gave, run.json last; returns its size in bytes.

        Raises ExperimentError when there is no room.
        """
        contents = {name: base64.b64decode(text) for name, text in files.items()}
        summary = contents.pop(self.summary_file.name)
        try:
            self.clear()
            for name, content in contents.items():
                (self.path / Path(name).name).write_bytes(content)
            write_text(self.summary_file, summary.decode("utf-8"))
        except OSError as fault:
            raise ExperimentError(f"{self.path} cannot be written ({fault.strerror}).") from None
        return len(summary) + sum(map(len, contents.values()))

    @property
    def is_whole(self) -> bool:
        """True once everything of the run has been written."""
        return self.summary_file.is_file()

    def summary(self) -> dict[str, Any]:
        """What run.json says; raises ExperimentError when it is damaged."""
        return read_json(self.summary_file)

    def attempts(self) -> pa.Table:
        """The attempts, checked against the schema; raises ExperimentError when damaged."""
        try:
            return read_attempts(self.attempts_file)
        except AttemptsFileError as fault:
            raise ExperimentError(str(fault)) from None

    def samples(self) -> pa.Table:
        """Gateway and shop, a row per utilisation interval."""
        return pq.read_table(self.samples_file)

    def load_factor(self) -> float:
        """How many times their rate sessions arrive, as long as the run goes on."""
        return load_factor.read(self.load_factor_file, otherwise=1.0)

    def set_load_factor(self, factor: float) -> None:
        """From now on, 0 to `HIGHEST_LOAD_FACTOR`; of a run that has ended nothing is changed."""
        write_text(self.load_factor_file, f"{factor:g}\n")
        if self.is_whole:
            self.load_factor_file.unlink(missing_ok=True)

    def log(self, event: str, **facts: object) -> None:
        """Add a line to events.jsonl."""
        line = {"at": datetime.now(UTC).isoformat(), "event": event, **facts}
        with self.events_file.open("a", encoding="utf-8") as events:
            events.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_copies(folder: Path, copies: Mapping[str, str]) -> None:
    """Texts of students' policies by file name (`own_policies.named_copies`) into a result."""
    for name, text in copies.items():
        (folder / own_policies.COPIES).mkdir(exist_ok=True)
        write_text(folder / own_policies.COPIES / name, text)


class ResultFolder:
    """The folder of one experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures = path / "figures"

    @classmethod
    def create(
        cls, results_dir: Path, spec: Spec, facts: Mapping[str, Any], plan: Iterable[PlannedRun]
    ) -> "ResultFolder":
        """A new folder with the spec, the plan and what is known before the first run."""
        copies = own_policies.named_copies(own_policies.of_spec(spec))
        when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        words = re.sub(r"[^a-z0-9.]+", "-", spec.heading.lower()).strip("-")[:60]
        folder = cls(results_dir / f"{when}-{words}")
        beside = 1
        while folder.path.exists():  # another was begun in this very second
            beside += 1
            folder = cls(results_dir / f"{when}-{words}-{beside}")
        try:
            (folder.path / "runs").mkdir(parents=True)
            write_copies(folder.path, copies)
            for name, content in facts.items():
                write_json(folder.path / f"{name}.json", content)
            write_text(folder.path / "spec.toml", spec.to_toml())
            write_json(folder.path / "plan.json", [asdict(run) for run in plan])
        except OSError as fault:
            raise ExperimentError(
                f"The result folder {folder.path} cannot be written ({fault.strerror}). "
                "Choose another with DOORBUSTER_RESULTS_DIR."
            ) from None
        return folder

    @classmethod
    def open(cls, path: Path) -> "ResultFolder":
        """A folder that is there; raises SpecError when it is none."""
        if not (path / "plan.json").is_file():
            raise SpecError(
                f"FOLDER: {path} is no result folder (it has no plan.json); allowed: one that "
                "`doorbuster run`, `compare` or `simulate` made"
            )
        return cls(path)

    def spec(self) -> Spec:
        """The spec as it was run; raises ExperimentError when missing or damaged."""
        path = self.path / "spec.toml"
        try:
            own_policies.remember_copies(self.path)
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise ExperimentError(f"{path} cannot be read: {fault}") from None
        return read_spec(text, str(path))

    def facts(self, name: str) -> dict[str, Any]:
        """machine, versions or capacity."""
        return read_json(self.path / f"{name}.json")

    def plan(self) -> list[PlannedRun]:
        """All runs in the order in which they are made; raises ExperimentError when damaged."""
        path = self.path / "plan.json"
        try:
            return [_planned(**row) for row in read_json(path)]
        except TypeError as fault:
            raise ExperimentError(f"{path} is no plan: {fault}") from None

    def run(self, planned: PlannedRun) -> RunFolder:
        """The folder of a planned run, made or not."""
        return RunFolder(self.path / "runs" / planned.folder)

    def whole_runs(self) -> list[tuple[PlannedRun, RunFolder]]:
        """The runs that are complete, in the order of the plan."""
        runs = [(planned, self.run(planned)) for planned in self.plan()]
        return [(planned, run) for planned, run in runs if run.is_whole]


def unfinished(results_dir: Path, spec: Spec) -> ResultFolder | None:
    """The newest folder of this very spec that still lacks runs, to be resumed."""
    for path in sorted(results_dir.glob("*/plan.json"), reverse=True):
        folder = ResultFolder(path.parent)
        try:
            same = folder.spec().fingerprint == spec.fingerprint
            if same and len(folder.whole_runs()) < len(folder.plan()):
                return folder
        except ExperimentError:
            continue  # an older or damaged folder is not ours to resume
    return None


def newest(results_dir: Path) -> ResultFolder:
    """The newest result folder; raises ExperimentError when there is none."""
    paths = sorted(results_dir.glob("*/plan.json"))
    if not paths:
        raise ExperimentError(f"No result in {results_dir} yet; `make compare` makes one.")
    return ResultFolder(paths[-1].parent)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: object) -> None:
    """Write JSON whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The content; raises ExperimentError when missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise ExperimentError(f"{path} cannot be read: {fault}") from None
