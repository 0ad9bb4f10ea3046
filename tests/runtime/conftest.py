"""A test's separate appliance: free ports, state in a folder that PostgreSQL can reach."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common import ports
from runtime.native.supervision import end, left_over
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State


class Appliance:
    """`doorbuster …` as the Makefile calls it."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables

    @property
    def settings(self) -> Settings:
        return load(self.variables, REPOSITORY)

    @property
    def state(self) -> State:
        return State(self.settings.state_dir)

    def run(self, *command: str, timeout_s: float = 300, **variables: str) -> tuple[int, str]:
        """Run the command; return the exit code and all output."""
        done = subprocess.run(
            [sys.executable, "-m", "doorbuster", *command],
            cwd=REPOSITORY,
            env={"PATH": "/usr/bin:/bin", **self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return done.returncode, done.stdout

    @contextmanager
    def running(self, *command: str) -> Iterator["subprocess.Popen[str]"]:
        """Yield the command while it runs; its output can be read as it comes."""
        with subprocess.Popen(
            [sys.executable, "-m", "doorbuster", *command],
            cwd=REPOSITORY,
            env={"PATH": "/usr/bin:/bin", **self.variables},
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield process


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    """Yield an appliance of this module alone, ended and removed however the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="doorbuster-test-"))
    folder.chmod(0o755)
    names = list(load().ports())
    made = Appliance(
        {
            "RUNTIME": "native",
            "DOORBUSTER_STATE_DIR": str(folder / "state"),
            "DOORBUSTER_RESULTS_DIR": str(folder / "results"),
            "DOORBUSTER_FIRST_LOOK": "0",
            **{name: str(port) for name, port in zip(names, ports.free(len(names)), strict=True)},
        }
    )
    yield made
    made.run("down")
    end(left_over(made.state))
    shutil.rmtree(folder)
