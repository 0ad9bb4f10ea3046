"""CONTRIBUTING.md's "Add a policy" works as it stands."""

import re
import types
from pathlib import Path

import pytest

from gateway.policies import registry
from gateway.policies.interface import Dispatch, Drop, Page, Request
from tests.gateway.policies import test_conformance

GUIDE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


@pytest.fixture
def stale(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The guide's example, registered as its third step says."""
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    module = types.ModuleType("gateway.policies.stale")
    exec(compile(code.group(1), str(GUIDE), "exec"), module.__dict__)
    monkeypatch.setitem(registry.POLICIES, module.STALE.name, (module.STALE, module.stale))
    return module


def test_the_example_keeps_the_rule_it_states(stale: types.ModuleType) -> None:
    policy = registry.create("stale", {"longest_wait_s": 5})
    for number, arrived_s in enumerate((0.0, 1.0, 2.0)):
        policy.arrival(arrived_s, Request(number, Page.MAIN, arrived_s))
    verdicts = policy.workers_free(6.0, 1)
    assert [type(verdict) for verdict in verdicts] == [Drop, Dispatch]
    assert [request.id for request in policy.waiting()] == [2]


def test_the_example_passes_the_conformance_suite(stale: types.ModuleType) -> None:
    rules = [test for name, test in vars(test_conformance).items() if name.startswith("test_")]
    assert rules
    for rule in rules:
        rule(name="stale")
