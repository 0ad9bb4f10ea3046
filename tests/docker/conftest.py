"""The whole appliance in containers, on this machine's engine, only for `make test-docker`.

Base images that are missing are made from the distribution's packages (as root) or fetched.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common import ports
from runtime.compose import engine
from runtime.compose import settings as compose_settings
from runtime.compose.engine import Container
from runtime.compose.settings import Project
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State

ASKED_FOR = "DOORBUSTER_TEST_DOCKER"
BUILD_S = 3000
NO_PACKAGE = ("GRAFANA_IMAGE", compose_settings.JAEGER_IMAGE)

# What else a start of Docker or a build may need; nothing of an appliance that runs here.
_KEPT = ("DOORBUSTER_BUILD_NETWORK",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests out of other runs: they take minutes and need an engine."""
    if os.environ.get(ASKED_FOR) == "1":
        if why := engine.problem():
            pytest.exit(f"make test-docker: {why.removesuffix(engine.OR_NATIVE)}", 2)
    else:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="make test-docker"))


class Containers:
    """`doorbuster …` as the Makefile calls it, with RUNTIME=docker."""

    def __init__(self, folder: Path) -> None:
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("DOORBUSTER_", "COMPOSE_")) or name in _KEPT
        }
        names = list(load({}, folder).ports())
        free = zip(names, ports.free(len(names)), strict=True)
        self.environment = {
            **kept,
            "RUNTIME": "docker",
            "DOORBUSTER_STATE_DIR": str(folder / "state"),
            "DOORBUSTER_RESULTS_DIR": str(folder / "results"),
            "DOORBUSTER_FIRST_LOOK": "0",
            "COLUMNS": "140",
            **{name: str(port) for name, port in free},
        }

    @property
    def settings(self) -> Settings:
        return load(self.environment, REPOSITORY)

    @property
    def project(self) -> Project:
        return Project(self.settings, State(self.settings.state_dir))

    def all(self) -> dict[str, Container]:
        return {one.service: one for one in engine.containers(self.project.name)}

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "doorbuster", *command],
            cwd=REPOSITORY,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command: str, timeout_s: float = BUILD_S) -> tuple[int, str]:
        """Run the command; return the exit code and all output."""
        process = self.start(*command)
        try:
            printed, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, printed

    def inside(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a container."""
        return docker("exec", self.all()[service].id, *command)


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, timeout=240, check=False
    )


def inspected(identity: str) -> dict[str, Any]:
    """Return the engine's description of a container."""
    told: dict[str, Any] = json.loads(docker("inspect", identity).stdout)[0]
    return told


@pytest.fixture(scope="session")
def base_images() -> None:
    """Provide every base image, except Grafana's where it is not available."""
    for variable, name in compose_settings.images().items():
        tagged = compose_settings.without_digest(name)
        if engine.image_id(name) or engine.image_id(tagged) or engine.pull(name) is None:
            continue
        if variable not in NO_PACKAGE:
            subprocess.run(
                [REPOSITORY / "docker" / "offline" / "build.sh", variable],
                check=True,
                timeout=BUILD_S,
            )


@pytest.fixture(scope="module")
def containers(base_images: None) -> Iterator[Containers]:
    """Yield an appliance of this module alone that is up; remove it however the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="doorbuster-docker-"))
    folder.chmod(0o755)
    made = Containers(folder)
    try:
        yield made
    finally:
        made.environment["FORCE"] = "1"
        made.run("reset")
        docker("image", "rm", made.project.image)
        shutil.rmtree(folder)
