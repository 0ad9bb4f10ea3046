"""The way to the virtual environment: its errors, each with the fix."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from runtime.settings import REPOSITORY
from tests.programs import run


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the files that the bootstrap reads, without an environment."""
    (tmp_path / "runtime").mkdir()
    for name in ("runtime/bootstrap.sh", "uv.lock", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    return tmp_path


def bootstrap(clone: Path, **variables: str) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    done = run(clone / "runtime" / "bootstrap.sh", env=environment)
    return done.returncode, done.stdout + done.stderr


def python_program(folder: Path, script: str) -> str:
    program = folder / "a-python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_a_debian_without_ensurepip_is_told_the_package(clone: Path) -> None:
    # Debian's python3 without python3-venv: everything works but this import.
    lacking = 'case "$*" in *ensurepip*) exit 1;; esac; exec python3 "$@"'
    code, printed = bootstrap(clone, PYTHON=python_program(clone, lacking))
    assert code == 1
    assert "apt-get install python3." in printed
    assert "-venv" in printed
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RUNTIME": "podman"}, "RUNTIME=podman is unknown; allowed: native and docker"),
        ({"PYTHON": "/nowhere/python"}, "PYTHON=/nowhere/python: there is no such program"),
    ],
)
def test_a_wrong_choice_names_the_variable(
    clone: Path, variables: dict[str, str], words: str
) -> None:
    code, printed = bootstrap(clone, **variables)
    assert code == 1
    assert words in printed


def test_an_old_python_is_refused_by_its_version(clone: Path) -> None:
    old = python_program(clone, '[ "$1" = --version ] && echo "Python 3.9.2"; exit 1')
    code, printed = bootstrap(clone, PYTHON=old)
    assert code == 1
    assert "is Python 3.9.2; Doorbuster needs Python 3.11 to 3.14" in printed


def test_a_locked_folder_holds_nobody_up(clone: Path) -> None:
    """Another user, who may read and so lock the clone's folder, cannot make a `make` wait."""
    old = python_program(clone, "exit 1")
    folder = os.open(clone, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        code, printed = bootstrap(clone, PYTHON=old)
    finally:
        os.close(folder)
    assert code == 1
    assert "waiting" not in printed
    assert (clone / ".venv.lock").stat().st_mode & 0o777 == 0o600
