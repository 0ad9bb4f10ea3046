"""The doctor's findings on Docker, on machines with it, with half of it, and without it."""

from pathlib import Path

import pytest

from common import ports
from runtime import doctor
from runtime.doctor import BAD, BEWARE, GOOD, Finding
from runtime.settings import REPOSITORY, Settings, load
from tests.runtime.conftest import ANSWERS, DENIED, STOPPED, Docker, told

OLD = '[ "$1" = version ] && echo 28.0.0 || echo v2.6.0'
UNUSABLE = "natively: no Docker engine can be used"
ANSWERED = Finding(GOOD, "Docker", "engine 28.0.0, Compose 2.40.3")


@pytest.fixture
def settings(tmp_path: Path, docker: Docker) -> Settings:
    names = list(load({}, tmp_path).ports())
    free = {name: str(port) for name, port in zip(names, ports.free(len(names)), strict=True)}
    return load({"DOORBUSTER_STATE_DIR": str(tmp_path / "state"), **free}, REPOSITORY)


@pytest.mark.parametrize(
    ("script", "asked", "found", "runtime"),
    [
        (ANSWERS, "", ANSWERED, "in containers: a Docker engine answers"),
        (ANSWERS, "native", ANSWERED, "natively: RUNTIME=native"),
        (None, "", Finding(GOOD, "Docker", "not installed; only containers need it"), UNUSABLE),
        (STOPPED, "",
         Finding(BEWARE, "Docker", "the Docker engine does not answer (Cannot connect to the "
                 "Docker daemon at unix:///x.)", "sudo systemctl start docker, or RUNTIME=native"),
         UNUSABLE),
        (STOPPED, "native", Finding(GOOD, "Docker", "not used"), "natively: RUNTIME=native"),
        (DENIED, "docker",
         Finding(BAD, "Docker", "this user may not use the Docker engine",
                 "sudo usermod -aG docker $USER and log in again, or RUNTIME=native"),
         "in containers: RUNTIME=docker"),
        (OLD, "",
         Finding(BEWARE, "Docker", "Docker Compose 2.6.0 is too old: at least 2.19 is needed",
                 "install docker-compose-plugin (Docker's packages), docker-compose-v2 (Ubuntu's) "
                 "or docker-compose (Debian 13's)"),
         UNUSABLE),
    ],
)  # fmt: skip
def test_engine_compose_permission_and_what_make_up_would_choose(
    settings: Settings, docker: Docker, script: str, asked: str, found: Finding, runtime: str
) -> None:
    docker.answers(script)
    docker.setenv("RUNTIME", asked)
    chosen, findings = doctor.chosen_runtime(settings)
    assert findings == [found, Finding(GOOD, "Runtime", runtime)]
    assert chosen == ("docker" if runtime.startswith("in containers") else "native")


def test_a_runtime_that_is_unknown_is_the_diagnosis(settings: Settings, docker: Docker) -> None:
    docker.setenv("RUNTIME", "podman")
    chosen, (finding,) = doctor.chosen_runtime(settings)
    assert chosen is None
    assert finding.verdict is BAD
    assert finding.found == "RUNTIME=podman is unknown; allowed: native and docker"


def test_containers_that_run_are_looked_at_one_by_one(settings: Settings, docker: Docker) -> None:
    docker.answers()
    docker.contains(
        told("shop", Health={"Status": "healthy"}),
        told("gateway", Health={"Status": "unhealthy"}),
        told("lab-prepare", Status="exited", Running=False),
    )
    fix = "make logs ARGS=gateway; make up starts the service again"
    assert list(doctor.containers(settings)) == [
        Finding(BAD, "gateway", "unhealthy", fix),
        Finding(GOOD, "shop", "healthy, CPUs 0"),
    ]
    docker.contains()
    running, ports_free = doctor.containers(settings)
    assert running.found == "no; `make up` starts it"
    assert str(settings.gateway_port) in ports_free.found
