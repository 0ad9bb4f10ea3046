"""A policy is added with its module, its registration and the page of data sheets."""

import inspect
import sys
import types
from typing import get_args

import pytest

from gateway.policies import ADMISSIONS, POLICIES, Abandonment, Entry, registry
from gateway.policies.interface import Dispatch, Drop, Page, Request
from tests.gateway.policies import test_conformance
from tests.walks import guide
from tests.walks.copies import ProjectCopy

pytestmark = pytest.mark.slow


REGISTRY = "gateway/policies/__init__.py"
SIMULATED = ("--sessions", "300", "--repetitions", "1", "--rho", "2", "--processes", "1")


def example(path: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The module that the guide gives for `path`, as if it were there."""
    (code,) = guide.examples(path).values()
    module = types.ModuleType(path.removesuffix(".py").replace("/", "."))
    exec(compile(code, str(guide.GUIDE), "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def stale(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The guide's queueing policy, registered in this process."""
    module = example("gateway/policies/stale.py", monkeypatch)
    monkeypatch.setitem(POLICIES, module.STALE.name, Entry("stale", "STALE", "stale"))
    return module


@pytest.fixture
def one_in(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The guide's admission policy, registered likewise."""
    module = example("gateway/policies/one_in.py", monkeypatch)
    monkeypatch.setitem(ADMISSIONS, module.ONE_IN.name, Entry("one_in", "ONE_IN", "one_in"))
    return module


def register(copy: ProjectCopy, module: str, line: str, after: str) -> None:
    """Do the guide's second and third step, and write the page of data sheets."""
    copy.take(f"gateway/policies/{module}.py")
    copy.replace(REGISTRY, after, after + line)
    copy.make_pages()
    assert copy.touched() == {f"gateway/policies/{module}.py", REGISTRY, "docs/policies.md"}


def test_a_policy_takes_three_files(copy: ProjectCopy) -> None:
    """It runs in a simulation, and the commands, the documentation and the console list it."""
    line, _ = guide.additions(REGISTRY)
    after = '    "waiting-room": Entry("waiting_room", "WAITING_ROOM", "WaitingRoom"),\n'
    register(copy, "stale", line, after)
    assert "\n### stale\n" in (copy.folder / "docs/policies.md").read_text(encoding="utf-8")
    assert "\nstale\n" in copy.doorbuster("policy", "list")
    said = copy.doorbuster("simulate", "--policies", "sq,stale", *SIMULATED)
    assert "Counts reconcile in all 2 runs" in said
    (tables,) = (copy.folder / "results").glob("*/tables.md")
    assert "| 2 | Stale | 300 " in tables.read_text(encoding="utf-8")
    page = copy.pages("/launch/lifo-pri/")
    assert '<input type="checkbox" name="policies" value="stale"' in page
    assert "Stale</label>" in page
    copy.tests(
        "tests/lab/test_wording.py",
        "tests/lab/report/drawing/test_palette.py",
        "tests/lab/cli/test_policy_sheets.py",
    )


def test_an_admission_policy_takes_three_files(copy: ProjectCopy) -> None:
    """It runs in a simulation before a queueing policy."""
    _, line = guide.additions(REGISTRY)
    after = (
        '    "sbac-predictive": '
        'Entry("sbac_predictive", "SBAC_PREDICTIVE", "PredictiveAdmission"),\n'
    )
    register(copy, "one_in", line, after)
    said = copy.doorbuster("simulate", "--policies", "sq", "--admission", "one-in", *SIMULATED)
    assert "SQ + One in N" in said


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
