"""A test's separate appliance, and a program `docker` with a test's answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from common import ports
from runtime.native.services import Service
from runtime.native.supervision import end, left_over
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State
from tests.programs import python


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
        done = python(
            *("-m", "doorbuster", *command),
            env={"PATH": "/usr/bin:/bin", **self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
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


ANSWERS = """
case "$1" in
  version) echo 28.0.0 ;;
  compose) echo v2.40.3 ;;
  ps) echo $CONTAINERS ;;
  inspect) cat "$INSPECTED" ;;
esac
"""
STOPPED = "echo 'Cannot connect to the Docker daemon at unix:///x.' >&2; exit 1"
DENIED = "echo 'permission denied while trying to connect' >&2; exit 1"


def told(service: str, **state: object) -> dict[str, object]:
    """Return a running container, as the engine describes it."""
    running = {"Status": "running", "Running": True, "ExitCode": 0}
    return {
        "Id": service,
        "Image": "sha256:1",
        "State": running | {"StartedAt": "2026-11-21T18:00:00.123456789Z"} | state,
        "RestartCount": 2,
        "HostConfig": {"CpusetCpus": "0"},
        "Config": {"Labels": {"com.docker.compose.service": service}},
    }


def service(name: str, *program: str, **more: Any) -> Service:
    """Return a service without a port, which is ready at once."""
    return Service(
        name=name,
        title=name,
        program=program,
        port=None,
        cpus=tuple(os.sched_getaffinity(0)),
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        ready_within_s=20,
        refusal=lambda: None,
        **more,
    )


class Docker:
    """A program `docker`, for states that no real engine can be brought to."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.setenv = folder, monkeypatch.setenv
        monkeypatch.delenv("RUNTIME", raising=False)
        self.contains()

    def answers(self, script: str | None = ANSWERS) -> None:
        """Put the program on the PATH; without a script there is no docker at all."""
        folder = self.folder / ("bin" if script else "none")
        folder.mkdir(exist_ok=True)
        self.setenv("PATH", f"{folder}:{os.defpath}" if script else str(folder))
        if script:
            (folder / "docker").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "docker").chmod(0o755)

    def contains(self, *containers: dict[str, object]) -> None:
        """Let the program describe these containers."""
        (self.folder / "inspected").write_text(json.dumps(containers))
        self.setenv("INSPECTED", str(self.folder / "inspected"))
        self.setenv("CONTAINERS", " ".join(str(one["Id"]) for one in containers))


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """Return a program `docker` without answers yet; RUNTIME is not set."""
    return Docker(tmp_path, monkeypatch)


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a folder that other users may enter, which pytest's folder is not."""
    folder = Path(tempfile.mkdtemp(prefix="doorbuster-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    """Yield an appliance of this module alone, ended and removed however the tests end."""
    names = list(load().ports())
    with open_folder() as folder:
        variables = {
            "RUNTIME": "native",
            "DOORBUSTER_STATE_DIR": str(folder / "state"),
            "DOORBUSTER_RESULTS_DIR": str(folder / "results"),
            "DOORBUSTER_FIRST_LOOK": "0",
        }
        free = zip(names, ports.free(len(names)), strict=True)
        made = Appliance(variables | {name: str(port) for name, port in free})
        yield made
        made.run("down")
        end(left_over(made.state))
