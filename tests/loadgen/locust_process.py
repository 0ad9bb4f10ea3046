"""Starting the real Locust on the real locustfile, and reading its output."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen.records.attempt_log import read_attempts
from loadgen.records.attempts import Attempt

PROGRAM = ("-m", "locust")
PATIENT_PROGRAM = (
    "-c",
    "from locust import main, runners; runners.HEARTBEAT_LIVENESS = 240; main.main()",
)
"""A Locust whose master still waits for a worker that sends no heartbeat for minutes, because this
machine is busy. By default, such a worker is lost after four seconds."""

LOCUSTFILE = Path(__file__).parents[2] / "loadgen" / "locustfile.py"
PATIENCE_S = 240


@dataclass
class Ended:
    """A Locust that has ended: its exit status, its JSON lines, its other output."""

    status: int
    progress: list[dict[str, Any]]
    summary: dict[str, Any]
    errors: str


def run(folder, *options):
    """Run customers headless to the end, in `folder`."""
    with started(folder, "--headless", "--only-summary", *options) as process:
        return finish(process)


@contextmanager
def started(folder, *options, program=PROGRAM):
    """Run Locust with `options`; kill it at the end if it still runs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LOCUST_", "DOORBUSTER_LOAD_"))
    }
    with subprocess.Popen(
        [sys.executable, *program, "-f", str(LOCUSTFILE), "--loglevel", "WARNING", *options],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # does nothing to one that has ended


def finish(process, before=()):
    """Wait for the end; `before` are lines of standard output that were read already."""
    output, errors = process.communicate(timeout=PATIENCE_S)
    lines = [json.loads(line) for line in [*before, *output.splitlines()]]
    progress = [line for line in lines if line["event"] == "progress"]
    summaries = [line for line in lines if line["event"] == "summary"]
    return Ended(process.returncode, progress, summaries[-1] if summaries else {}, errors)


def rows(folder):
    """Return the attempts of the run in this folder."""
    table = read_attempts(folder / "attempts.parquet")
    return [Attempt(**row) for row in table.to_pylist()]
