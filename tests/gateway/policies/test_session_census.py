"""Session lengths and inter-request times, measured without an error from sessions under way."""

import random

import pytest

from gateway.policies.interface import Outcome
from gateway.policies.session_census import ENOUGH_SESSIONS, SILENCE_GAPS, SessionCensus


def ask(census, time_s, id, session, *, outcome=Outcome.ANSWERED):
    census.request(time_s, id, session)
    census.request_ended(id, outcome)


def test_the_inter_request_time_by_hand():
    census = SessionCensus()
    assert census.inter_request_s is None
    ask(census, 0.0, 1, "a")
    ask(census, 1.0, 2, "b")
    assert census.inter_request_s is None
    ask(census, 3.0, 3, "a")
    ask(census, 6.0, 4, "b")
    ask(census, 7.0, 5, "a")
    assert census.inter_request_s == (3.0 + 5.0 + 4.0) / 3


def test_a_session_has_ended_after_five_gaps_of_silence_unless_it_comes_back():
    census = SessionCensus()
    for id, (time_s, session) in enumerate([(0.0, "a"), (0.0, "b"), (2.0, "a"), (2.0, "b")]):
        ask(census, time_s, id, session)
    assert census.inter_request_s == 2.0
    census.count_ended(2.0 + SILENCE_GAPS * 2.0 - 0.1)
    assert census.ended == 0
    census.count_ended(2.0 + SILENCE_GAPS * 2.0)
    assert census.ended == 2
    ask(census, 13.0, 9, "b")
    assert census.ended == 1
    census.count_ended(1000.0)
    assert census.ended == 2


def test_requests_after_the_last_end_do_not_count():
    """Three sessions of two requests are over, a fourth has had 40 and goes on."""
    census, id = SessionCensus(), 0
    for name in "abc":
        for time_s in (0.0, 1.0):
            id += 1
            ask(census, time_s, id, name)
    for step in range(40):
        id += 1
        ask(census, 2.0 + step, id, "d")
    census.count_ended(41.0)
    assert census.ended == 3
    # Of 46 requests, 5 had been processed when the last of the ended sessions asked for the 6th.
    assert census.session_length(estimate=0.0) is None  # three are not enough
    assert census.session_length(estimate=4.0) == pytest.approx(4 + 3 / 33 * (5 / 3 - 4))


def test_an_estimate_counts_as_much_as_enough_sessions():
    census = SessionCensus()
    assert census.session_length() is None
    assert census.session_length(estimate=7.0) == 7.0


def test_aborted_and_dropped_sessions_are_not_taken_for_short_ones():
    census = SessionCensus()
    for id, name in enumerate("abcd"):
        ask(census, 0.0, id, name)
        ask(census, 1.0, 10 + id, name)
    census.request(2.0, 20, "a")
    census.request_aborted(20)
    census.request_ended(20, Outcome.ORPHANED)
    census.request(2.0, 21, "b")
    census.request_dropped(21)
    census.request(2.0, 22, "c")
    census.request_aborted(22)
    ask(census, 3.0, 23, "c")  # tried again
    census.count_ended(100.0)
    assert census.ended == 2  # c and d


def test_cancelled_and_failed_requests_were_not_processed():
    census = SessionCensus()
    for id, outcome in enumerate(Outcome):
        ask(census, 0.0, id, "a", outcome=outcome)
    assert census.processed == 2


def simulated_length(mean, *, until_s, seed=5):
    """Return the measured length in a server that begins empty: think time 5 s, 20 sessions/s."""
    rng, events, census = random.Random(seed), [], SessionCensus()
    time_s, number = 0.0, 0
    while (time_s := time_s + rng.expovariate(20)) < until_s:
        number, step_s = number + 1, time_s
        while step_s < until_s:
            events.append((step_s, str(number)))
            if rng.random() < 1 / mean:
                break
            step_s += rng.expovariate(1 / 5)
    next_s = 1.0
    for id, (asked_s, session) in enumerate(sorted(events)):
        while asked_s >= next_s:
            census.count_ended(next_s)
            next_s += 1.0
        ask(census, asked_s, id, session)
    return census.session_length()


@pytest.mark.parametrize("mean", [2, 5, 15])
def test_geometric_lengths_are_found_long_before_the_running_ratio_finds_them(mean):
    measured = simulated_length(mean, until_s=100.0)
    assert measured == pytest.approx(mean, rel=0.12)


def test_memory_is_bounded_against_made_up_names():
    census = SessionCensus(remembered=50)
    ask(census, 0.0, 1, "a")
    ask(census, 0.1, 2, "a")
    for id in range(3, 5000):
        census.request(id / 10, id, str(id))
        census.count_ended(id / 10)
    sizes = [len(value) for value in vars(census).values() if hasattr(value, "__len__")]
    assert max(sizes) <= 50


def test_enough_sessions_are_needed():
    census = SessionCensus()
    for number in range(ENOUGH_SESSIONS):
        assert census.session_length() is None
        for step in range(2):
            ask(census, number + step / 2, 2 * number + step, str(number))
        census.count_ended(number + 0.5 + SILENCE_GAPS * 0.5)
    census.count_ended(1000.0)
    assert census.session_length() == pytest.approx(2.0, rel=0.02)
