"""One attempt followed through its policy, in words: what a policy does to who already waits."""

import pytest

from gateway.policies.interface import Request
from gateway.policies.registry import create
from lab.analysis.decision_trace import TracingPolicy, Wanted
from lab.console.results.decision_words import answer, sentences

ATTEMPT = {"page": "Br-1"}


def watched(policy, parameters=None):
    """Return the policy, with the first attempt of session 7 waiting since 1 s."""
    found = TracingPolicy(create(policy, parameters or {}), Wanted(7, 0, 1, "Br-1", 1.0))
    assert not found.arrival(1.0, Request(1, "Br-1", 1.0, "7.1"))
    return found


def words(policy):
    return [one.head for one in sentences(policy.trace, ATTEMPT, "ignore")]


def test_whom_the_policy_takes_out_of_its_line_was_withdrawn():
    policy = watched("door-lifo")
    policy.abandonment(9.0, 1)
    assert policy.trace.withdrawn_s == 9.0
    assert answer(policy.trace) == "The request was held and never served."
    assert words(policy) == ["It arrived", "Its customer left"]


def test_who_is_pushed_out_had_waited():
    policy = watched("door-lifo", {"places": 1})
    policy.arrival(3.5, Request(2, "Br-1", 3.5, "8.1"))
    reason = "admission queue full (1), and the other requests are newer"
    assert answer(policy.trace) == (
        f"The request was held for 2.50 s and then turned away: {reason}."
    )
    came, away = sentences(policy.trace, ATTEMPT, "ignore")
    assert came.text.endswith("The policy did not turn the request away at once.")
    assert (away.head, away.text) == (
        "It was turned away",
        f"The policy's verdict was drop: “{reason}”.",
    )


def test_who_has_waited_long_enough_is_not_refused_by_admission():
    policy = watched("door-fifo")
    policy.timer_due(7.0)
    assert answer(policy.trace) == (
        "The request was held for 6.00 s and then turned away: waited 6 s in the admission queue."
    )


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("sq", "In the single queue 0 of 100 places were taken; the discipline was FIFO."),
        ("waiting-room", "In the queue inside 0 waited, in the admission queue 0 waited; "),
        (
            "door-lifo",
            "In queue Br-1 0 waited, in the admission queue 0 of 50 places were taken; "
            "the discipline in the admission queue was LIFO.",
        ),
    ],
)
def test_queues_are_named_as_far_as_they_have_places(policy, said):
    (came,) = sentences(watched(policy).trace, ATTEMPT, "ignore")
    assert came.text.startswith(said)
