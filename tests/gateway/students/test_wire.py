"""The strict reading of a child's messages about its sheet and its state."""

import pytest

from gateway.policies.interface import Page
from gateway.policies.sheet import Parameter, Sheet
from gateway.students import wire

BY_PAGE = Parameter("weight", dict.fromkeys(Page, 1.0), "", "of a page", "a test", 0.0, 9.0)
SHEET = Sheet(
    "mine", "an idea", "a rule", "me", "none",
    (Parameter("places", 3, "requests", "places", "a test", 1, 9), BY_PAGE), True,
)  # fmt: skip


def through(message):
    return wire.unpacked(wire.packed(message)[4:], wire.OF_A_FILE)


def test_a_sheet_comes_through_whole():
    assert wire.sheet_of(through(wire.sheet_said(SHEET))) == SHEET


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"idea": " "}, "idea is empty"),
        ({"idea": "x" * 1001}, "idea must be text of at most 1000"),
        ({"needs_sessions": 1}, "needs_sessions must be True or False"),
        ({"more": 1}, "SHEET is incomplete"),
        ({"parameters": [{}]}, "a parameter is incomplete"),
    ],
)
def test_a_sheet_that_lacks_something_says_what(change, words):
    with pytest.raises(wire.WireError, match=words):
        wire.sheet_of({**wire.sheet_said(SHEET), **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "two words"}, "must be valid as the name of an argument"),
        ({"default": 10}, "its default must be from 1 to 9"),
        ({"default": "3"}, "must be a number"),
        ({"default": {"Br-1": 1}}, "must have a value for each of Br-1"),
        ({"low": None}, "low must be a number"),
        ({"high": 10**400}, "high must be a finite number"),
    ],
)
def test_a_parameter_that_is_wrong_says_what(change, words):
    row = wire.sheet_said(SHEET)
    row["parameters"][0] |= change
    with pytest.raises(wire.WireError, match=words):
        wire.sheet_of(row)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], "must return a dictionary"),
        (dict.fromkeys(map(str, range(101)), 1), "at most 100 entries"),
        ({"queues": 3}, "a number for each queue"),
        ({"queues": {"all": "3"}}, "must be a number"),
        ({"discipline": 3}, "must be text"),
        ({"queues": {"all": 10**400}}, r"snapshot\(\)\['queues'\] must be a finite number"),
        ({"capacities": {"all": float("inf")}}, "must be a finite number"),
        ({"discipline_switches": float("nan")}, "must be a finite number"),
        ({"mine": 10**400}, r"snapshot\(\)\['mine'\] must be a finite number"),
        ({"mine": -float("inf")}, "must be a finite number"),
        ({"mine": [1]}, "must be text"),
        ({"two\nlines": 1}, "must be text"),
    ],
)
def test_a_snapshot_that_is_wrong_says_what(found, words):
    with pytest.raises(wire.WireError, match=words):
        wire.snapshot_of(found)


def test_single_figures_stay_what_they_are():
    found = {"yes": True, "none": None, "count": 3, "ratio": 0.5, "word": "full"}
    assert wire.snapshot_of(through(found)) == {"figures": found}


def test_numbers_that_json_does_not_have_are_refused_both_ways():
    with pytest.raises(ValueError, match="not JSON compliant"):
        wire.packed([float("inf")])
    for text in (b"NaN", b"[Infinity]", b"{", b"\xff", b"[" * 100_000, b"9" * 5000):
        with pytest.raises(wire.WireError):
            wire.unpacked(text, wire.OF_A_FILE)
