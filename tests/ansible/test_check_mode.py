"""`--check` where nothing is installed yet: it starts nothing and waits for nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.playing import ROLES

# Played only where their units are there, also with --check.
WHERE_THERE_IS_A_CLUSTER = {"postgres/tasks/cluster.yml", "postgres/handlers/main.yml"}
WHERE_UNITS_WERE_FOUND = {"common/tasks/stop.yml", "common/tasks/gone.yml"}
ELSEWHERE = WHERE_THERE_IS_A_CLUSTER | WHERE_UNITS_WERE_FOUND

WHAT_NEEDS_A_UNIT = "ansible.builtin.systemd_service"


def waiting() -> Iterator[tuple[str, str, str]]:
    """Yield the roles' tasks that start something or wait for it: file, name and condition."""
    for path in sorted(ROLES.glob("*/*/*.yml")):
        if path.parent.name not in ("tasks", "handlers"):
            continue
        file = str(path.relative_to(ROLES))
        if file in ELSEWHERE or path.name.startswith("verify"):
            continue
        for task in tasks_of(path):
            if "name" in task.get(WHAT_NEEDS_A_UNIT, {}) or "until" in task:
                yield file, task["name"], str(task.get("when", ""))


def tasks_of(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load(path.read_text(encoding="utf-8")) or [])


@pytest.mark.parametrize(("file", "name", "when"), list(waiting()))
def test_nothing_is_started_that_may_not_be_there(file: str, name: str, when: str) -> None:
    assert "not ansible_check_mode" in when, f"{file}: {name}"
