"""CONTRIBUTING.md's "Add a policy" works as it stands."""

import inspect
import re
import types
from pathlib import Path
from typing import get_args

import pytest

from gateway.policies import registry
from gateway.policies.interface import Abandonment, Dispatch, Drop, Page, Request
from tests.gateway.policies import test_conformance

GUIDE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


def example(path: str) -> types.ModuleType:
    """The module that the guide gives for `path`, made from its text."""
    mark = rf"<!-- example: {re.escape(path)} -->\n```python\n(.*?)```"
    code = re.search(mark, GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    module = types.ModuleType(path.removesuffix(".py").replace("/", "."))
    exec(compile(code.group(1), str(GUIDE), "exec"), module.__dict__)
    return module


@pytest.fixture
def stale(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The guide's queueing policy, registered as its third step says."""
    module = example("gateway/policies/stale.py")
    monkeypatch.setitem(registry.POLICIES, module.STALE.name, (module.STALE, module.stale))
    return module


@pytest.fixture
def one_in(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The guide's admission policy, registered likewise."""
    module = example("gateway/policies/one_in.py")
    monkeypatch.setitem(registry.ADMISSIONS, module.ONE_IN.name, (module.ONE_IN, module.one_in))
    return module


def test_the_example_keeps_the_rule_it_states(stale: types.ModuleType) -> None:
    policy = registry.create("stale", {"longest_wait_s": 5})
    for number, arrived_s in enumerate((0.0, 1.0, 2.0)):
        policy.arrival(arrived_s, Request(number, Page.HOME, arrived_s))
    verdicts = policy.workers_free(6.0, 1)
    assert [type(verdict) for verdict in verdicts] == [Drop, Dispatch]
    assert [request.id for request in policy.waiting()] == [2]


def test_the_admission_example_keeps_the_rule_it_states(one_in: types.ModuleType) -> None:
    policy = registry.create("sq", {}, "one-in", {"every": 3})
    new = [policy.arrival(0.0, Request(id, Page.HOME, 0.0)) for id in range(7)]
    assert [len(verdicts) for verdicts in new] == [0, 1, 1, 0, 1, 1, 0]
    under_way = Request(8, Page.BROWSE, 0.0, "a", session_is_new=False)
    assert not policy.arrival(0.0, under_way)


@pytest.mark.parametrize("name", ["stale", "sq+one-in", "stale+one-in"])
def test_the_examples_pass_the_conformance_suite(
    name: str, stale: types.ModuleType, one_in: types.ModuleType
) -> None:
    rules = [test for name, test in vars(test_conformance).items() if name.startswith("test_")]
    assert rules
    for rule in rules:
        if "name" not in inspect.signature(rule).parameters:
            continue
        if "abandonment" in inspect.signature(rule).parameters:
            for abandonment in get_args(Abandonment):
                rule(name=name, abandonment=abandonment)
        else:
            rule(name=name)
