"""Loads that change in steps, and the arrivals that follow from them."""

import math
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.load_schedule import RateStep
from loadgen.workload.sessions import Customers, Schedule, Segment, SessionModel, SessionModelError

SEGMENTS = st.lists(
    st.builds(Segment, st.floats(0.1, 50), st.one_of(st.just(0.0), st.floats(0.05, 4))),
    min_size=1,
    max_size=6,
).filter(lambda segments: any(segment.rho > 0 for segment in segments))


@settings(deadline=None, max_examples=60)
@given(segments=SEGMENTS, rate=st.floats(0.2, 5), seed=st.integers(0, 5))
def test_whoever_arrives_does_so_when_the_load_has_added_up(segments, rate, seed):
    """Λ(t) = rate × ∫ρ maps the arrivals on those of rate 1, whatever the schedule."""
    schedule = Schedule(tuple(segments))
    times = list(Customers(SessionModel(), seed, rate, schedule).arrivals())
    units = list(islice(Customers(SessionModel(), seed, 1.0).arrivals(), len(times) + 1))
    assert all(earlier <= later for earlier, later in pairwise(times))
    for time_s, unit in zip(times, units, strict=False):
        assert time_s <= schedule.duration_s * (1 + 1e-12)
        assert _added_up(segments, rate, time_s) == pytest.approx(unit, rel=1e-9, abs=1e-9)
    # And the next one is beyond the end.
    assert units[-1] >= schedule.expected_sessions(rate) * (1 - 1e-9)


def _added_up(segments, rate, time_s):
    total, start_s = 0.0, 0.0
    for segment in segments:
        total += rate * segment.rho * min(max(time_s - start_s, 0.0), segment.duration_s)
        start_s += segment.duration_s
    return total


def test_arrivals_until_a_time_are_those_before_it():
    customers = Customers(SessionModel(), 6, 3.0)
    until_s = list(customers.arrivals(40.0))
    assert until_s == list(islice(customers.arrivals(), len(until_s)))
    assert until_s[-1] < 40 <= next(islice(customers.arrivals(), len(until_s), None))
    schedule = Schedule((Segment(30, 1.0), Segment(30, 2.0)))
    cut = list(Customers(SessionModel(), 6, 3.0, schedule).arrivals(40.0))
    assert 30 < cut[-1] < 40


def test_totals():
    schedule = Schedule((Segment(50, 1.0), Segment(25, 3.0), Segment(25, 0.0)))
    assert schedule.duration_s == 100
    assert schedule.expected_sessions(2.0) == 250


@pytest.mark.parametrize(
    ("segments", "line"),
    [
        ([(0, 1)], "schedule.0.duration_s: 0: give a number above 0"),
        ([(10, 1), (math.inf, 1)], "schedule.1.duration_s: inf: give a number above 0"),
        ([(10, -1)], "schedule.0.rho: -1: give 0 or more"),
        ([(10, math.nan)], "schedule.0.rho: nan: give 0 or more"),
        ([(10, 0)], "schedule: no session ever arrives; give at least one load above 0"),
        ([], "schedule: no session ever arrives; give at least one load above 0"),
    ],
)
def test_a_wrong_schedule_is_refused_by_name(segments, line):
    with pytest.raises(SessionModelError) as refusal:
        Schedule(tuple(Segment(*segment) for segment in segments))
    assert str(refusal.value) == line


def test_absolute_rates_are_loads_of_one_session_a_second():
    steps = [RateStep(0, 3.5), RateStep(600, 0), RateStep(700, 0.75)]
    schedule = Schedule.of_rates(steps, 1000)
    assert schedule == Schedule((Segment(600, 3.5), Segment(100, 0), Segment(300, 0.75)))
    assert schedule.duration_s == 1000
    assert schedule.expected_sessions(1.0) == pytest.approx(600 * 3.5 + 300 * 0.75)


@pytest.mark.parametrize(
    ("steps", "until_s", "field"),
    [
        ([], 10, "steps.0.from_s"),
        ([(1, 1)], 10, "steps.0.from_s"),
        ([(0, 1), (5, 1), (5, 2)], 10, "steps.2.from_s"),
        ([(0, 1), (math.nan, 1)], 10, "steps.1.from_s"),
        ([(0, 1)], 0, "until_s"),
        ([(0, 1)], math.inf, "until_s"),
        ([(0, 1), (5, -1)], 10, "steps.1.sessions_ps"),
        ([(0, math.inf)], 10, "steps.0.sessions_ps"),
        ([(0, 0)], 10, "schedule"),
    ],
)
def test_rates_that_cannot_be_meant_are_refused(steps, until_s, field):
    with pytest.raises(SessionModelError) as refusal:
        Schedule.of_rates([RateStep(*step) for step in steps], until_s)
    assert refusal.value.field == field
    assert "\n" not in str(refusal.value)
