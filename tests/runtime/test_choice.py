"""The runtime that `make` chooses, on machines with Docker and without it."""

import json
from pathlib import Path

import pytest

from runtime import choice
from runtime.settings import REPOSITORY, Settings, load
from tests.runtime import docker_program
from tests.runtime.compose.test_engine import told


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("RUNTIME", raising=False)
    monkeypatch.setenv("CONTAINERS", "")
    return load({"DOORBUSTER_STATE_DIR": str(tmp_path / "state")}, REPOSITORY)


def with_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, runs: bool) -> None:
    docker_program.install(monkeypatch, tmp_path / "bin", docker_program.ANSWERS)
    if runs:
        (tmp_path / "inspected").write_text(json.dumps([told("lab-worker")]))
        monkeypatch.setenv("INSPECTED", str(tmp_path / "inspected"))
        monkeypatch.setenv("CONTAINERS", "lab-worker")


@pytest.mark.parametrize(
    ("asked", "engine", "started"),
    [
        (None, True, "docker"),
        (None, False, "native"),
        ("native", True, "native"),
        ("docker", True, "docker"),
        ("docker", False, "docker"),  # and then says what is missing
    ],
)
def test_up_takes_what_is_asked_for_or_what_can_be_had(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    asked: str | None,
    engine: bool,
    started: str,
) -> None:
    if engine:
        with_docker(monkeypatch, tmp_path, runs=False)
    else:
        docker_program.install(monkeypatch, tmp_path / "bin", None)
    if asked:
        monkeypatch.setenv("RUNTIME", asked)
    assert choice.choose(settings).runtime == started


def test_what_runs_already_wins(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_docker(monkeypatch, tmp_path, runs=True)
    assert choice.to_use(settings) == "docker"
    monkeypatch.setenv("RUNTIME", "native")
    with pytest.raises(
        choice.RuntimeChoiceError,
        match="RUNTIME=native: the appliance already runs in containers; fix: make down first",
    ):
        choice.choose(settings)


def test_what_runs_is_not_overlooked_in_another_runtime(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_docker(monkeypatch, tmp_path, runs=True)
    monkeypatch.setenv("RUNTIME", "native")
    with pytest.raises(choice.RuntimeChoiceError, match="RUNTIME=native: the appliance runs in c"):
        choice.to_use(settings)
    with_docker(monkeypatch, tmp_path, runs=False)
    monkeypatch.setenv("CONTAINERS", "")
    assert choice.to_use(settings) == "native"


def test_a_docker_that_cannot_be_used_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RUNTIME", raising=False)
    denied = "echo 'permission denied while trying to connect' >&2; exit 1"
    docker_program.install(monkeypatch, tmp_path / "bin", denied)
    said = choice.why_native()
    assert said is not None
    assert said.startswith("this user may not use the Docker engine; fix:")
    monkeypatch.setenv("RUNTIME", "native")
    assert choice.why_native() is None
    monkeypatch.delenv("RUNTIME")
    docker_program.install(monkeypatch, tmp_path / "bin", docker_program.ANSWERS)
    assert choice.why_native() is None
    docker_program.install(monkeypatch, tmp_path / "none", None)
    assert choice.why_native() is None


def test_commands_stay_here_while_nothing_runs(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_docker(monkeypatch, tmp_path, runs=False)
    assert choice.to_use(settings) == "native"


def test_another_runtime_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(choice.RuntimeChoiceError, match="allowed: native and docker"):
        choice.asked({"RUNTIME": "podman"})
