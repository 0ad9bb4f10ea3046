"""The files of one run of any engine: attempts.parquet, samples.parquet, events.jsonl, and
run.json, which is written last and completes the run."""

import base64
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from lab.errors import ExperimentError
from lab.files import documents
from lab.files.documents import write_text
from lab.files.run_summary import RunSummary
from loadgen import load_factor
from loadgen.records.attempt_log import read_attempts
from loadgen.records.rows import RowsFileError, read_table

RUN_FILE = "run.json"
HIGHEST_LOAD_FACTOR = load_factor.HIGHEST


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of a run.

    A page can create thousands of these objects to read one file each, so paths are created on
    demand.
    """

    path: Path

    @property
    def experiment(self) -> str:
        """The name of the result folder to which the run belongs."""
        return self.path.parents[1].name

    @property
    def attempts_file(self) -> Path:
        return self.path / "attempts.parquet"

    @property
    def samples_file(self) -> Path:
        return self.path / "samples.parquet"

    @property
    def events_file(self) -> Path:
        """The events of the run, such as changes of the policy."""
        return self.path / "events.jsonl"

    @property
    def summary_file(self) -> Path:
        """The outcome of the run; this file is written last."""
        return self.path / RUN_FILE

    @property
    def load_factor_file(self) -> Path:
        """The file that, during a live run, has the factor for the rate of arriving sessions."""
        return self.path / "load-factor"

    @property
    def live_shop_file(self) -> Path:
        """The description of a run's shop (`shop_file.LiveShop`) during simultaneous runs."""
        return self.path / "live-shop.json"

    @property
    def proxy_file(self) -> Path:
        """The file that, during a run with a baseline proxy, has the state of the proxy
        (`ProxyStatusFile`).
        """
        return self.path / "proxy.json"

    def clear(self) -> None:
        """Empty the folder, which can have files from an interrupted attempt at this run."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)

    def pack(self) -> dict[str, str]:
        """Return the run's files by name, in Base64, to send them to another machine."""
        return {
            file.name: base64.b64encode(file.read_bytes()).decode("ascii")
            for file in sorted(self.path.iterdir())
        }

    def unpack(self, files: Mapping[str, str]) -> int:
        """Write the files that `pack` returned, run.json last; return their size in bytes.

        Raises ExperimentError if the folder cannot be written.
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
        """Whether all files of the run have been written."""
        return self.summary_file.is_file()

    def summary(self) -> RunSummary:
        """Return the content of run.json; raises ExperimentError if it is missing or damaged."""
        return documents.read(self.summary_file, RunSummary)

    def events(self) -> list[dict[str, Any]]:
        """Return the events in events.jsonl; empty if the file does not exist. Raises
        ExperimentError if the file is damaged.
        """
        if not self.events_file.exists():
            return []
        found: list[dict[str, Any]] = documents.read_json_lines(self.events_file)
        return found

    def attempts(self) -> pa.Table:
        """Return the attempts after checking their schema; raises ExperimentError if their file is
        missing or damaged.
        """
        try:
            return read_attempts(self.attempts_file)
        except RowsFileError as fault:
            raise ExperimentError(str(fault)) from None

    def samples(self) -> pa.Table:
        """Return the samples of gateway and shop, with a row for each utilisation interval; raises
        ExperimentError if their file is missing or damaged.
        """
        try:
            return read_table(self.samples_file)
        except RowsFileError as fault:
            raise ExperimentError(str(fault)) from None

    def load_factor(self) -> float:
        """Return the factor that was last set for the rate of arriving sessions; 1 if none was
        set."""
        return load_factor.read(self.load_factor_file, otherwise=1.0)

    def set_load_factor(self, factor: float) -> None:
        """Set the factor for the rate of arriving sessions, from 0 to `HIGHEST_LOAD_FACTOR`. After
        the run, the call has no effect.
        """
        write_text(self.load_factor_file, f"{factor:g}\n")
        if self.is_whole:
            self.load_factor_file.unlink(missing_ok=True)

    def log(self, event: str, **facts: object) -> None:
        """Add a line to events.jsonl."""
        line = {"at": datetime.now(UTC).isoformat(), "event": event, **facts}
        with self.events_file.open("a", encoding="utf-8") as events:
            events.write(json.dumps(line, ensure_ascii=False) + "\n")
