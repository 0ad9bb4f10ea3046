"""The doctor's findings on Docker, on machines with it, with half of it, and without it."""

import json
from pathlib import Path

import pytest

from common import ports
from runtime import doctor
from runtime.doctor import Finding, Verdict
from runtime.settings import REPOSITORY, Settings, load
from tests.runtime import docker_program
from tests.runtime.compose.test_engine import told

DOWN = "echo 'Cannot connect to the Docker daemon at unix:///x.' >&2; exit 1"
DENIED = "echo 'permission denied while trying to connect' >&2; exit 1"
OLD = '[ "$1" = version ] && echo 28.0.0 || echo v2.6.0'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("RUNTIME", raising=False)
    monkeypatch.setenv("CONTAINERS", "")
    names = list(load({}, tmp_path).ports())
    free = {name: str(port) for name, port in zip(names, ports.free(len(names)), strict=True)}
    return load({"DOORBUSTER_STATE_DIR": str(tmp_path / "state"), **free}, REPOSITORY)


@pytest.mark.parametrize(
    ("script", "asked", "docker", "runtime"),
    [
        (
            docker_program.ANSWERS,
            None,
            Finding(Verdict.GOOD, "Docker", "engine 28.0.0, Compose 2.40.3"),
            "in containers: a Docker engine answers",
        ),
        (
            docker_program.ANSWERS,
            "native",
            Finding(Verdict.GOOD, "Docker", "engine 28.0.0, Compose 2.40.3"),
            "natively: RUNTIME=native",
        ),
        (
            None,
            None,
            Finding(Verdict.GOOD, "Docker", "not installed; only containers need it"),
            "natively: no Docker engine can be used",
        ),
        (
            DOWN,
            None,
            Finding(
                Verdict.BEWARE,
                "Docker",
                "the Docker engine does not answer (Cannot connect to the Docker daemon at "
                "unix:///x.)",
                "sudo systemctl start docker, or RUNTIME=native",
            ),
            "natively: no Docker engine can be used",
        ),
        (
            DOWN,
            "native",
            Finding(Verdict.GOOD, "Docker", "not used"),
            "natively: RUNTIME=native",
        ),
        (
            DENIED,
            "docker",
            Finding(
                Verdict.BAD,
                "Docker",
                "this user may not use the Docker engine",
                "sudo usermod -aG docker $USER and log in again, or RUNTIME=native",
            ),
            "in containers: RUNTIME=docker",
        ),
        (
            OLD,
            None,
            Finding(
                Verdict.BEWARE,
                "Docker",
                "Docker Compose 2.6.0 is too old: at least 2.19 is needed",
                "install docker-compose-plugin (Docker's packages), docker-compose-v2 (Ubuntu's) "
                "or docker-compose (Debian 13's)",
            ),
            "natively: no Docker engine can be used",
        ),
    ],
)
def test_engine_compose_permission_and_what_make_up_would_choose(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    script: str | None,
    asked: str | None,
    docker: Finding,
    runtime: str,
) -> None:
    docker_program.install(monkeypatch, tmp_path / "bin", script)
    if asked:
        monkeypatch.setenv("RUNTIME", asked)
    chosen, findings = doctor.chosen_runtime(settings)
    assert findings == [docker, Finding(Verdict.GOOD, "Runtime", runtime)]
    assert chosen == ("docker" if runtime.startswith("in containers") else "native")


def test_a_runtime_that_is_unknown_is_the_diagnosis(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME", "podman")
    chosen, (finding,) = doctor.chosen_runtime(settings)
    assert chosen is None
    assert finding.verdict is Verdict.BAD
    assert finding.found == "RUNTIME=podman is unknown; allowed: native and docker"


def test_containers_that_run_are_looked_at_one_by_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Their ports do not count as taken."""
    docker_program.install(monkeypatch, tmp_path / "bin", docker_program.ANSWERS)
    there = [
        told("shop", Health={"Status": "healthy"}),
        told("gateway", Health={"Status": "unhealthy"}),
        told("lab-prepare", Status="exited", Running=False),
    ]
    (tmp_path / "inspected").write_text(json.dumps(there))
    monkeypatch.setenv("INSPECTED", str(tmp_path / "inspected"))
    monkeypatch.setenv("CONTAINERS", "shop gateway lab-prepare")
    assert list(doctor.containers(settings)) == [
        Finding(
            Verdict.BAD,
            "gateway",
            "unhealthy",
            "make logs ARGS=gateway; make up starts the service again",
        ),
        Finding(Verdict.GOOD, "shop", "healthy, CPUs 0"),
    ]
    monkeypatch.setenv("CONTAINERS", "")
    running, ports_free = doctor.containers(settings)
    assert running.found == "no; `make up` starts it"
    assert str(settings.gateway_port) in ports_free.found
