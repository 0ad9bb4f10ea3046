"""The runtime that `make` chooses, on machines with Docker and without it."""

from pathlib import Path

import pytest

from runtime import choice
from runtime.settings import REPOSITORY, Settings, load
from tests.runtime.conftest import DENIED, Docker, told


@pytest.fixture
def settings(tmp_path: Path, docker: Docker) -> Settings:
    return load({"DOORBUSTER_STATE_DIR": str(tmp_path / "state")}, REPOSITORY)


@pytest.mark.parametrize(
    ("asked", "engine", "started"),
    [
        ("", True, "docker"),
        ("", False, "native"),
        ("native", True, "native"),
        ("docker", True, "docker"),
        ("docker", False, "docker"),  # and then says what is missing
    ],
)
def test_up_takes_what_is_asked_for_or_what_can_be_had(
    settings: Settings, docker: Docker, asked: str, engine: bool, started: str
) -> None:
    docker.answers() if engine else docker.answers(None)
    docker.setenv("RUNTIME", asked)
    assert choice.choose(settings).runtime == started


def test_what_runs_already_wins_and_is_not_overlooked(settings: Settings, docker: Docker) -> None:
    docker.answers()
    assert choice.to_use(settings) == "native"
    docker.contains(told("lab-worker"))
    assert choice.to_use(settings) == "docker"
    docker.setenv("RUNTIME", "native")
    refused = choice.RuntimeChoiceError
    with pytest.raises(refused, match="the appliance runs in containers; fix: make down first"):
        choice.choose(settings)
    with pytest.raises(refused, match="RUNTIME=native: the appliance runs in c"):
        choice.to_use(settings)
    docker.contains()
    assert choice.to_use(settings) == "native"


def test_a_docker_that_cannot_be_used_is_said(docker: Docker) -> None:
    docker.answers(DENIED)
    said = choice.why_native()
    assert said is not None
    assert said.startswith("this user may not use the Docker engine; fix:")
    docker.setenv("RUNTIME", "native")
    assert choice.why_native() is None
    docker.setenv("RUNTIME", "")
    docker.answers()
    assert choice.why_native() is None
    docker.answers(None)
    assert choice.why_native() is None


def test_another_runtime_is_refused() -> None:
    with pytest.raises(choice.RuntimeChoiceError, match="allowed: native and docker"):
        choice.asked({"RUNTIME": "podman"})
