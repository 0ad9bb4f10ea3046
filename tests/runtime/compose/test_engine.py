"""The messages when containers cannot be used, and the reading of existing containers."""

import json
from pathlib import Path

import pytest

from runtime.compose import engine
from tests.runtime import docker_program


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "there is no program docker; fix: install Docker, or RUNTIME=native"),
        (
            "echo 'Cannot connect to the Docker daemon at unix:///var/run/x.' >&2; exit 1",
            "the Docker engine does not answer (Cannot connect to the Docker daemon",
        ),
        (
            "echo 'permission denied while trying to connect to the daemon socket' >&2; exit 1",
            "this user may not use the Docker engine; fix: sudo usermod -aG docker",
        ),
        (
            '[ "$1" = version ] && echo 28.0.0 || { echo "not a docker command" >&2; exit 1; }',
            "Docker Compose v2 is missing; fix: install docker-compose-plugin",
        ),
        (
            '[ "$1" = version ] && echo 28.0.0 || echo v2.18.1',
            "Docker Compose 2.18.1 is too old: at least 2.19 is needed; fix: install docker-",
        ),
        (
            'case "$1" in version) echo 28.0.0 ;; compose) echo v5.0.1 ;; *) exit 1 ;; esac',
            "Docker Compose 5.0.1 needs buildx for building, but buildx is missing; fix: install "
            "docker-buildx",
        ),
    ],
)
def test_why_there_are_no_containers_is_one_line_with_the_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None, words: str
) -> None:
    docker_program.install(monkeypatch, tmp_path / "bin", script)
    why = engine.problem()
    assert why is not None
    assert words in why
    assert "\n" not in why
    with pytest.raises(engine.EngineError):
        engine.check()


def test_compose_2_builds_without_buildx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = 'case "$1" in version) echo 28.0.0 ;; compose) echo v2.40.3 ;; *) exit 1 ;; esac'
    docker_program.install(monkeypatch, tmp_path / "bin", script)
    assert engine.problem() is None


def told(service: str, **state: object) -> dict[str, object]:
    return {
        "Id": service,
        "Image": "sha256:1",
        "State": {
            "Status": "running",
            "Running": True,
            "ExitCode": 0,
            "StartedAt": "2026-11-21T18:00:00.123456789Z",
            **state,
        },
        "RestartCount": 2,
        "HostConfig": {"CpusetCpus": "0"},
        "Config": {"Labels": {"com.docker.compose.service": service}},
    }


def test_containers_are_read_as_the_engine_tells_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inspected = tmp_path / "inspected.json"
    inspected.write_text(
        json.dumps(
            [
                told("shop", Health={"Status": "healthy"}),
                told("ads", Health={"Status": "starting"}),
                told("shop-prepare", Status="exited", Running=False),
                told("lab-worker"),
                told("lab-prepare", Status="exited", Running=False, ExitCode=3),
            ]
        )
    )
    monkeypatch.setenv("INSPECTED", str(inspected))
    monkeypatch.setenv("CONTAINERS", "shop ads shop-prepare lab-worker lab-prepare")
    docker_program.install(monkeypatch, tmp_path / "bin", docker_program.ANSWERS)
    found = {one.service: one for one in engine.containers("doorbuster")}
    assert {name for name, one in found.items() if one.serves} == {"shop", "lab-worker"}
    assert {name for name, one in found.items() if one.has_ended_well} == {"shop-prepare"}
    assert found["shop"].restarts == 2
    assert found["shop"].cpus == "0"
    assert found["shop"].up_s > 0
    assert found["shop-prepare"].up_s == 0


def test_a_project_without_containers_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docker_program.install(monkeypatch, tmp_path / "bin", docker_program.ANSWERS)
    monkeypatch.setenv("CONTAINERS", "")
    assert engine.containers("doorbuster") == []


@pytest.mark.parametrize("failing", ["ps", "inspect"])
def test_an_engine_that_does_not_tell_is_not_one_without_containers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: str
) -> None:
    fails = f'[ "$1" = {failing} ] && {{ echo "Error: i/o timeout" >&2; exit 1; }}\n'
    docker_program.install(monkeypatch, tmp_path / "bin", fails + docker_program.ANSWERS)
    monkeypatch.setenv("CONTAINERS", "shop")
    with pytest.raises(engine.EngineError, match=r"does not list its containers \(Error: i"):
        engine.containers("doorbuster")


def test_a_container_that_is_removed_meanwhile_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inspected = tmp_path / "inspected.json"
    inspected.write_text(json.dumps([told("shop")]))
    monkeypatch.setenv("INSPECTED", str(inspected))
    monkeypatch.setenv("CONTAINERS", "shop gone")
    said = 'cat "$INSPECTED"; echo "Error: No such container: gone" >&2; exit 1'
    gone = f'[ "$1" = inspect ] && {{ {said}; }}\n'
    docker_program.install(monkeypatch, tmp_path / "bin", gone + docker_program.ANSWERS)
    assert [one.service for one in engine.containers("doorbuster")] == ["shop"]
