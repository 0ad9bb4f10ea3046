"""The bench of decisions: it measures every policy, at the lengths that it prints."""

import pytest
from click.testing import CliRunner

from bench import policies
from gateway.policies import POLICIES


@pytest.mark.parametrize("name", POLICIES)
def test_a_round_keeps_the_length_of_the_queue(name, monkeypatch):
    monkeypatch.setattr(policies, "EVENTS", 50)
    queue = policies.Queue(name, 200)
    assert queue.length == 200 or name in ("aimd", "gradient2", "envoy-adaptive-concurrency")
    assert queue.round_us() > 0
    assert len(queue.driver.policy.waiting()) >= queue.length - 3


def test_the_table(monkeypatch):
    monkeypatch.setattr(policies, "EVENTS", 10)
    monkeypatch.setattr(policies, "LENGTHS", (10, 20))
    found = CliRunner().invoke(policies.main, ["--policies", "sq,aimd", "--rounds", "1"])
    assert found.exit_code == 0, found.output
    assert "sq" in found.output
    assert "20 wait" in found.output


def test_an_unknown_policy_is_named():
    found = CliRunner().invoke(policies.main, ["--policies", "sq,lifo"])
    assert found.exit_code == 2
    assert "lifo" in found.output
