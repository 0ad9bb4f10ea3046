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
    verdicts = {kind.__name__ for kind in interface.Verdict.__args__}
    found = {one.name: one.kind for one in policy_page.entries()}
    assert {name for name, kind in found.items() if kind == "Event"} == set(events)
    assert {name for name, kind in found.items() if kind == "Verdict"} == verdicts
    assert found.keys() == {*events, *verdicts, "Request"}


@pytest.mark.parametrize("name", policy_page.examples())
def test_every_example_works(name):
    code = policy_page.examples()[name]
    assert "assert" in code
    exec(compile(code, f"example of {name}", "exec"), {"__name__": "example"})
