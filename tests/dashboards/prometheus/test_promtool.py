"""Prometheus' own judgement of configuration, rules and alerts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from runtime import monitoring
from runtime.settings import load
from tests.skips import needs

promtool = needs("promtool")


@pytest.fixture
def folder(tmp_path):
    targets = monitoring.targets(load(), monitoring.COMPOSE)
    monitoring.configure(tmp_path, "compose", targets)
    return tmp_path


def judged(folder, *arguments):
    return subprocess.run(
        ["promtool", *arguments], cwd=folder, capture_output=True, text=True, timeout=240
    )


@promtool
def test_the_configuration_and_the_rules_are_right(folder):
    done = judged(folder, "check", "config", "prometheus.yml")
    assert done.returncode == 0, done.stderr
    assert "SUCCESS" in done.stdout
    assert "FAILED" not in done.stdout + done.stderr


@promtool
def test_alerts_come_when_they_should_and_go(folder):
    shutil.copy(Path(__file__).with_name("alerts_test.yml"), folder)
    done = judged(folder, "test", "rules", "alerts_test.yml")
    assert done.returncode == 0, done.stdout + done.stderr
