"""The messages when containers cannot be used, and the reading of existing containers."""

import pytest

from runtime.compose import engine
from tests.runtime.conftest import ANSWERS, DENIED, STOPPED, Docker, told


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "there is no program docker; fix: install Docker, or RUNTIME=native"),
        (STOPPED, "the Docker engine does not answer (Cannot connect to the Docker daemon"),
        (DENIED, "this user may not use the Docker engine; fix: sudo usermod -aG docker"),
        ('[ "$1" = version ] && echo 28.0.0 || { echo "not a docker command" >&2; exit 1; }',
         "Docker Compose v2 is missing; fix: install docker-compose-plugin"),
        ('[ "$1" = version ] && echo 28.0.0 || echo v2.18.1',
         "Docker Compose 2.18.1 is too old: at least 2.19 is needed; fix: install docker-"),
        ('case "$1" in version) echo 28.0.0 ;; compose) echo v5.0.1 ;; *) exit 1 ;; esac',
         "Docker Compose 5.0.1 needs buildx for building, but buildx is missing; fix: install "
         "docker-buildx"),
    ],
)  # fmt: skip
def test_why_there_are_no_containers_is_one_line_with_the_mend(
    docker: Docker, script: str | None, words: str
) -> None:
    docker.answers(script)
    why = engine.problem()
    assert why is not None
    assert words in why
    assert "\n" not in why
    with pytest.raises(engine.EngineError):
        engine.check()


def test_compose_2_builds_without_buildx(docker: Docker) -> None:
    docker.answers(
        'case "$1" in version) echo 28.0.0 ;; compose) echo v2.40.3 ;; *) exit 1 ;; esac'
    )
    assert engine.problem() is None


def test_containers_are_read_as_the_engine_tells_them(docker: Docker) -> None:
    docker.answers()
    assert engine.containers("doorbuster") == []
    docker.contains(
        told("shop", Health={"Status": "healthy"}),
        told("ads", Health={"Status": "starting"}),
        told("shop-prepare", Status="exited", Running=False),
        told("lab-worker"),
        told("lab-prepare", Status="exited", Running=False, ExitCode=3),
    )
    found = {one.service: one for one in engine.containers("doorbuster")}
    assert {name for name, one in found.items() if one.serves} == {"shop", "lab-worker"}
    assert {name for name, one in found.items() if one.has_ended_well} == {"shop-prepare"}
    assert found["shop"].restarts == 2
    assert found["shop"].cpus == "0"
    assert found["shop"].up_s > 0
    assert found["shop-prepare"].up_s == 0


@pytest.mark.parametrize("failing", ["ps", "inspect"])
def test_an_engine_that_does_not_tell_is_not_one_without_containers(
    docker: Docker, failing: str
) -> None:
    fails = f'[ "$1" = {failing} ] && {{ echo "Error: i/o timeout" >&2; exit 1; }}\n'
    docker.answers(fails + ANSWERS)
    docker.contains(told("shop"))
    with pytest.raises(engine.EngineError, match=r"does not list its containers \(Error: i"):
        engine.containers("doorbuster")


def test_a_container_that_is_removed_meanwhile_is_none(docker: Docker) -> None:
    docker.contains(told("shop"))
    said = 'cat "$INSPECTED"; echo "Error: No such container: gone" >&2; exit 1'
    docker.answers(f'[ "$1" = inspect ] && {{ {said}; }}\n' + ANSWERS)
    docker.setenv("CONTAINERS", "shop gone")
    assert [one.service for one in engine.containers("doorbuster")] == ["shop"]
