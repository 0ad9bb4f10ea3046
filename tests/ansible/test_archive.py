"""The archive of the code for lab hosts, made by the role's task in a new repository."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.ansible.playing import played, with_tools

pytestmark = [with_tools, pytest.mark.long]


def git(repository: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    command = ["git", "-C", str(repository), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def archive(repository: Path, commit: str) -> tuple[int, str]:
    task = {"include_role": {"name": "doorbuster.lab.common", "tasks_from": "archive"}}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"doorbuster_commit": {"stdout": commit}},
        "tasks": [task],
    }
    playbook = repository / "ansible/play.yml"
    playbook.parent.mkdir(exist_ok=True)
    playbook.write_text(json.dumps([play]))
    return played(repository, playbook)


def test_a_failed_archive_is_not_kept(tmp_path: Path) -> None:
    """An incomplete file under the final name would pass for that commit's archive for ever."""
    lab = tmp_path / "a lab"
    lab.mkdir()
    git(lab, "init", "--quiet")
    (lab / "shop.py").write_text("open = True")
    git(lab, "add", ".")
    git(lab, "commit", "--quiet", "--message=Shop")
    status, said = archive(lab, "1" * 40)
    assert status != 0, said
    commit = git(lab, "rev-parse", "HEAD")
    status, said = archive(lab, commit)
    assert status == 0, said
    kept = lab / "ansible/archives"
    assert {path.name for path in kept.glob("*.tar.gz")} == {f"{commit}.tar.gz"}
    listed = subprocess.run(
        ["tar", "-tzf", kept / f"{commit}.tar.gz"], check=True, capture_output=True, text=True
    )
    assert listed.stdout.split() == ["shop.py"]
