"""The run's clock and the count of late attempts."""

import pytest

from loadgen.schedule import Lag, RunClock


def test_lag_counts_what_was_late_and_keeps_the_largest():
    lag = Lag(tolerance_s=0.05)
    for seen in (0.0, 0.05, 0.06, 0.2, 0.01):
        lag.saw(seen)
    assert (lag.attempts, lag.late, lag.max_s) == (5, 2, 0.2)
    assert lag.take_newest() == 0.2
    lag.saw(0.1)
    assert lag.take_newest() == 0.1
    assert lag.take_newest() == 0
    assert lag.max_s == 0.2


def test_the_clock_speaks_paper_seconds():
    clock = RunClock(time_scale=100)
    before_s = clock.now_s()
    clock.sleep_until(before_s + 5)
    assert clock.now_s() >= before_s + 5
    assert clock.real_s(20) == pytest.approx(0.2)


def test_what_has_passed_is_not_waited_for():
    clock = RunClock(time_scale=1)
    clock.sleep_until(-30)
    assert clock.now_s() < 20
