"""docs/policy-api.md is what the interface says, and its examples work."""

import inspect

import pytest

from gateway.policies import interface
from lab.students import policy_page


def test_every_event_and_verdict_is_on_it():
    events = [
        name
        for name, what in vars(interface.Policy).items()
        if inspect.isfunction(what) and not name.startswith("_")
    ]
    assert sorted(policy_page.EVENTS) == sorted(events)
    assert set(policy_page.VERDICTS) == {kind.__name__ for kind in interface.Verdict.__args__}
    assert set(policy_page.examples()) == {*events, *policy_page.VERDICTS, "Request"}


@pytest.mark.parametrize("name", policy_page.examples())
def test_every_example_works(name):
    code = policy_page.examples()[name]
    assert "assert" in code
    exec(compile(code, f"example of {name}", "exec"), {"__name__": "example"})
