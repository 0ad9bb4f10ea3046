"""The simulator and policies work from a plain `pip install`, without a clone and an appliance."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.settings import REPOSITORY
from tests import programs
from tests.test_arrows import PARTS

UV = Path(sys.executable).with_name("uv")
SPEC = """
version = 1
engine = "simulated"
repetitions = 1
[load]
sessions = 100
rho = [1.4]
[[policy]]
name = "sq"
"""
NOT_EVERYWHERE = {
    *("curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
}
"""Modules of the standard library that some systems do not have."""
WITHOUT_APPLIANCE = """
import importlib.abc, sys

class Forbidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("celery", "django", "gevent", "locust", "psycopg", "redis", "uvloop"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Forbidden())
import doorbuster.__main__, doorbuster.commands, gateway.students.child
import lab.cli.experiments, lab.cli.policies, lab.runner.comparison, lab.runner.simulated
import lab.report.figures, lab.report.tables, lab.analysis.verdict
import lab.students.validator, lab.students.scoreboard, lab.students.template
print(*(one.__file__ for one in list(sys.modules.values()) if getattr(one, "__file__", None)))
"""


def unguarded(path: Path) -> list[str]:
    """Return the modules that this file imports in any case, as soon as it is imported."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return found


def test_what_a_policy_needs_is_imported_on_every_system() -> None:
    """No module of the simulator or of policies imports a module that Windows lacks, or the
    appliance's libraries."""
    done = programs.python("-c", WITHOUT_APPLIANCE, check=True)
    files = [Path(file) for file in done.stdout.split()]
    ours = [file for file in files if file.is_relative_to(REPOSITORY)
            and file.relative_to(REPOSITORY).parts[0] in PARTS]  # fmt: skip
    assert len(ours) > 100
    assert [
        f"{file.relative_to(REPOSITORY)} imports {name}"
        for file in ours
        for name in unguarded(file)
        if name in NOT_EVERYWHERE
    ] == []


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing of this repository's environment."""
    environment = {"PATH": os.defpath, "HOME": str(folder / "home")}
    return programs.run(*command, cwd=folder, env=environment)


@pytest.mark.long
def test_a_wheel_simulates_and_checks_policies(tmp_path: Path) -> None:
    """In a fresh environment a spec is simulated, a policy checked; `up` says what it needs."""
    listed = ("export", "--frozen", "--no-default-groups", "--no-emit-project", "--no-hashes")
    for words in (
        ("build", "--quiet", "--wheel", "--out-dir", tmp_path, REPOSITORY),
        ("venv", "--quiet", "--python", sys.executable, tmp_path / "venv"),
        (*listed, "--quiet", "--project", REPOSITORY, "--output-file", tmp_path / "locked.txt"),
    ):
        subprocess.run([UV, *words], cwd=tmp_path, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    into = (UV, "pip", "install", "--quiet", "--python", tmp_path / "venv" / "bin" / "python")
    subprocess.run([*into, "--requirement", tmp_path / "locked.txt"], check=True)
    subprocess.run([*into, "--no-deps", wheel], check=True)
    program, folder = tmp_path / "venv" / "bin" / "doorbuster", tmp_path / "work"
    folder.mkdir()
    (folder / "tiny.toml").write_text(SPEC)

    simulated = run(folder, program, "simulate", "tiny.toml")
    assert simulated.returncode == 0, simulated.stdout + simulated.stderr
    assert "Counts reconcile" in simulated.stdout
    (result,) = (folder / "results").iterdir()
    assert (result / "tables.md").is_file()

    assert run(folder, program, "policy", "new", "quiet-door").returncode == 0
    checked = run(folder, program, "policy", "check", "own/quiet_door.py")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "✗" not in checked.stdout

    refused = run(folder, program, "up")
    assert refused.returncode == 2
    assert "with its extra `appliance`" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
