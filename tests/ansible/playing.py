"""Playbooks, played from this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from runtime.settings import REPOSITORY

ANSIBLE = REPOSITORY / "ansible"
COLLECTION = ANSIBLE / "collections" / "ansible_collections" / "doorbuster" / "lab"
ROLES = COLLECTION / "roles"
PROGRAM = REPOSITORY / ".venv" / "bin" / "ansible-playbook"

with_tools = pytest.mark.skipif(not PROGRAM.exists(), reason="make lab-tools")


def played(folder: Path, *arguments: str | Path, within_s: float = 240) -> tuple[int, str]:
    """Return status and output of `ansible-playbook`; Ansible's files go to `folder`."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=ANSIBLE,
        env={
            **os.environ,
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "ANSIBLE_HOME": str(folder / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=within_s,
        check=False,
    )
    return done.returncode, done.stdout
