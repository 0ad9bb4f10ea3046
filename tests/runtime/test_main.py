"""The command line: vital commands work whatever `.env` contains; errors are one line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from common import ports
from runtime import commands as command_line
from runtime.compose.engine import EngineError
from runtime.progress import Progress
from runtime.settings import REPOSITORY, load
from tests.programs import python
from tests.runtime.conftest import Docker

pytestmark = pytest.mark.slow


SLIP = "DOORBUSTER_GATEWAY_PROT=9000"
WARNING = "unknown variable DOORBUSTER_GATEWAY_PROT; did you mean DOORBUSTER_GATEWAY_PORT?"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository with a separate `.env` that has a mistake in it."""
    shutil.copytree(REPOSITORY / "runtime", tmp_path / "runtime")
    (tmp_path / ".env").write_text(f"{SLIP}\nDOORBUSTER_STATE_DIR=here\n")
    return tmp_path


def run(clone: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "RUNTIME": "native"}
    return python(
        "-m", "doorbuster", *command, cwd=clone, env=environment, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("command", "words"), [("down", "was down already"), ("status", "Doorbuster is down")]
)
def test_a_slip_in_the_file_is_a_warning_to_what_must_work(
    clone: Path, command: str, words: str
) -> None:
    done = run(clone, command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert words in done.stdout
    assert done.stderr == f"warning: {clone / '.env'} line 1: {WARNING}\n"


@pytest.mark.parametrize("command", ["up", "reset"])
def test_a_slip_in_the_file_is_a_refusal_to_what_changes_things(clone: Path, command: str) -> None:
    done = run(clone, command)
    assert done.returncode == 1
    assert WARNING in done.stdout
    assert not (clone / "here").exists()


def test_logs_before_the_first_start_say_so(clone: Path) -> None:
    done = run(clone, "logs")
    assert done.returncode == 1
    warning, message = done.stderr.splitlines()
    assert WARNING in warning
    assert message == "Error: There are no logs yet; run `make up` first"


NO_REGISTRY = """
case "$1" in
  version) echo 28.0.0 ;;
  compose) echo v2.40.3 ;;
  image) exit 1 ;;
  pull) echo "Error response from daemon: no such host" >&2; exit 1 ;;
esac
"""


@pytest.mark.parametrize("asked", ["", "docker"])
def test_up_without_images_is_native_unless_containers_were_asked_for(
    docker: Docker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    docker.answers(NO_REGISTRY)
    names = list(load().ports())
    for name, port in zip(names, ports.free(len(names)), strict=True):
        monkeypatch.setenv(name, str(port))
    monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(docker.folder / "state"))
    monkeypatch.setenv("RUNTIME", asked)
    started: list[str] = []
    monkeypatch.setattr(command_line.up_module, "up", lambda *_: started.append("native"))
    why = "the image python:"
    if asked:
        with pytest.raises(EngineError, match=why):
            command_line.start_appliance(load(), Progress())
        assert started == []
    else:
        command_line.start_appliance(load(), Progress())
        assert started == ["native"]
        assert f"Not in containers: {why}" in " ".join(capsys.readouterr().out.split())
