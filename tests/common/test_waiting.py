"""Waiting until a condition holds."""

import pytest

from common.waiting import retry, wait_until, wait_while

LONG_S = 240.0


def test_the_first_true_answer_is_returned():
    """The function is not called after it."""
    answers = iter([None, 0, "here"])
    assert wait_until(lambda: next(answers), LONG_S, every_s=0.001) == "here"
    assert list(answers) == []


def test_the_last_reason_is_returned_when_time_runs_out():
    """Even without any time, the function is called once."""
    assert wait_while(lambda: "connection refused", 0.0) == "connection refused"
    assert wait_until(lambda: False, 0.0) is False


def test_the_end_of_a_reason_ends_the_wait():
    """The wait goes on as long as there is a reason."""
    reasons = iter(["connection refused", "status 503", None])
    assert wait_while(lambda: next(reasons), LONG_S, every_s=0.001) is None


def test_an_exception_ends_the_wait():
    """A caller can stop early."""

    def look():
        raise RuntimeError("the process has ended")

    with pytest.raises(RuntimeError, match="has ended"):
        wait_until(look, LONG_S)


def test_a_fault_is_retried_until_an_answer_comes():
    """Another exception than the fault passes through."""
    faults = [ConnectionError("away"), ConnectionError("away")]

    def ask():
        if faults:
            raise faults.pop()
        return "here"

    assert retry(ask, ConnectionError, LONG_S, every_s=0.001) == "here"
    faults = [ConnectionError("away")]
    with pytest.raises(ConnectionError, match="away"):
        retry(ask, TimeoutError, LONG_S, every_s=0.001)


def test_the_last_fault_is_raised_when_time_runs_out():
    """Without any time, the call is made once."""
    answers = iter([ConnectionError("first"), ConnectionError("second")])

    def ask():
        raise next(answers)

    with pytest.raises(ConnectionError, match="first"):
        retry(ask, ConnectionError, 0.0, every_s=0.001)
