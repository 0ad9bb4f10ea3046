"""What the image is made of, and messages where no engine answers any more."""

import os
import tomllib
from pathlib import Path

import pytest

from runtime import commands as command_line
from runtime.compose import appliance
from runtime.compose import settings as compose_settings
from runtime.compose.engine import EngineError
from runtime.compose.settings import Project
from runtime.progress import Progress
from runtime.settings import REPOSITORY, load
from runtime.state import State
from tests.runtime.conftest import ANSWERS, STOPPED, Docker, told


@pytest.fixture
def project(tmp_path: Path, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project whose containers were started and not removed."""
    monkeypatch.delenv("FORCE", raising=False)
    given = {
        "DOORBUSTER_STATE_DIR": str(tmp_path / "state"),
        "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results"),
    }
    made = Project(load(given, REPOSITORY), State(tmp_path / "state"))
    made.state.make()
    made.write([])
    made.mark.touch()
    return made


def test_the_image_has_every_package():
    """What a wheel is made of is in the image, which is made from the same project."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert "doorbuster" in packages
    assert set(packages) <= set(appliance.in_the_image())
    for part in appliance.in_the_image():
        assert (REPOSITORY / part).exists(), part


@pytest.mark.parametrize("script", [None, STOPPED])
def test_down_does_not_say_down_of_what_it_cannot_see(
    project: Project, docker: Docker, script: str | None
) -> None:
    docker.answers(script)
    for command in (command_line.stop_appliance, command_line.show_appliance):
        with pytest.raises(EngineError, match=r"state is unknown: .*; fix: .*RUNTIME=native$"):
            command(project.settings, Progress())


def test_down_removes_the_mark_of_what_it_finds_gone(
    project: Project, docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.answers()
    appliance.down(project.settings, Progress())
    assert "was down already" in capsys.readouterr().out
    docker.answers(STOPPED)
    command_line.stop_appliance(project.settings, Progress())
    assert "was down already" in capsys.readouterr().out


def test_a_compose_command_that_does_not_end_is_an_error(
    project: Project, docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time limit, the message names the command and its log."""
    monkeypatch.setattr(appliance, "BUILD_S", 0.5)
    docker.answers(ANSWERS.replace("echo v2.40.3", "exec sleep 600"))
    docker.contains(told("shop"))
    with pytest.raises(EngineError, match=r"down .* took more than .* s; fix: see .*compose\.log"):
        appliance.stop(project)


def test_reset_without_docker_forgets_what_it_cannot_remove_when_forced(
    project: Project, docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.answers(None)
    with pytest.raises(EngineError, match="fix: install it, or make reset FORCE=1"):
        appliance.forget(project.settings, Progress())
    docker.setenv("FORCE", "1")
    command_line.reset_appliance(project.settings, Progress())
    assert f"volumes of project {project.name}" in " ".join(capsys.readouterr().out.split())
    assert not project.state.folder.exists()


def test_reset_keeps_the_passwords_of_volumes_while_the_engine_is_stopped(
    project: Project, docker: Docker
) -> None:
    docker.answers(STOPPED)
    docker.setenv("FORCE", "1")
    with pytest.raises(EngineError, match=r"start docker; fix, if they no longer exist: rm "):
        command_line.reset_appliance(project.settings, Progress())
    assert project.compose_env.exists()


def test_the_logs_of_removed_containers_can_still_be_read(project: Project, docker: Docker) -> None:
    """A failed first start removes its containers; its message names `make logs`."""
    log = '[ "$1" = compose ] && echo "results: Permission denied"\n'
    docker.answers(log + ANSWERS.replace("compose) echo v2.40.3 ;;", ""))
    docker.contains(told("lab-prepare", Status="exited"))
    appliance.keep_logs(project)
    assert project.state.log("lab-prepare").read_text() == "results: Permission denied\n"


def test_an_image_without_its_digest_is_named_for_compose(project: Project) -> None:
    pinned = compose_settings.images()["VALKEY_IMAGE"]
    tagged = compose_settings.without_digest(pinned)
    assert pinned.startswith(f"{tagged}@sha256:")
    project.write([], {"VALKEY_IMAGE": tagged})
    assert f"VALKEY_IMAGE='{tagged}'\n" in project.compose_env.read_text()


def test_root_s_own_policies_can_be_read_inside(project: Project) -> None:
    """A clone that was made with umask 077 keeps others out of `own`."""
    if os.geteuid() != 0:
        pytest.skip("only root gives containers another user")
    folder = compose_settings.OWN_POLICIES
    before = folder.stat().st_mode
    folder.chmod(0o700)
    try:
        project.write([])
        assert folder.stat().st_mode & 0o055 == 0o055
    finally:
        folder.chmod(before)
