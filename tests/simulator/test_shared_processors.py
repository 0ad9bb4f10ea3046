"""Processors shared among applications: hand-made cases with known times, and an oracle."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.shared_processors import Grant, SharedProcessors

HALVES = (Grant(1, 1), Grant(2, 0))
"""Application 0 has one processor, 1 has two, and they share the fourth."""


def drain(processors: SharedProcessors[str]) -> list[tuple[float, str]]:
    """Return (time, job) of all jobs that end, without further arrivals."""
    ended = []
    while processors.next_s < math.inf:
        now_s = processors.next_s
        ended.append((now_s, processors.advance(now_s)))
    return ended


def platform(grants: Sequence[Grant] | None, processors: int = 4) -> SharedProcessors[str]:
    found = SharedProcessors[str](len(grants) if grants else 2, processors)
    found.grant(0.0, grants)
    return found


def start(processors: SharedProcessors[str], application: int, jobs: int) -> None:
    """Start `jobs` of 1 CPU second each, at time 0."""
    for _ in range(jobs):
        processors.start(0.0, application, 1.0, str(application))


def times(processors: SharedProcessors[str]) -> dict[str, float]:
    """Return when the last job of each application ends."""
    return {job: pytest.approx(time_s) for time_s, job in drain(processors)}


def test_a_job_is_on_one_processor_at_most():
    processors = platform([Grant(3), Grant(1)])
    start(processors, 0, 2)
    start(processors, 1, 3)
    assert times(processors) == {"0": 1.0, "1": 3.0}
    assert processors.busy_s(10.0, 0) == pytest.approx(2.0)
    assert processors.busy_s(10.0, 1) == pytest.approx(3.0)


def test_of_a_shared_processor_each_gets_half_while_both_have_work_for_it():
    processors = platform(HALVES)
    start(processors, 0, 3)  # on 1.5 processors
    start(processors, 1, 5)  # on 2.5
    assert times(processors) == {"0": 2.0, "1": 2.0}


def test_a_shared_processor_belongs_to_who_is_busy_alone():
    processors = platform(HALVES)
    start(processors, 0, 4)  # on 2 processors
    start(processors, 1, 2)  # on its own two: it has no work for the shared one
    assert times(processors) == {"0": 2.0, "1": 1.0}


def test_the_half_comes_back_when_the_partner_is_done():
    """5 jobs on 1.5 processors until the other is done at 1.2 s, on 2 from then on."""
    processors = platform(HALVES)
    start(processors, 0, 5)
    start(processors, 1, 3)  # on 2.5
    assert times(processors) == {"1": 1.2, "0": 1.2 + (5 - 1.2 * 1.5) / 2}


def test_without_a_manager_all_jobs_share_all_processors():
    processors = platform(None)
    start(processors, 0, 2)
    start(processors, 1, 6)
    assert times(processors) == {"0": 2.0, "1": 2.0}


def test_an_application_without_processors_waits_for_some():
    processors = platform([Grant(4), Grant(0)])
    start(processors, 1, 1)
    assert processors.next_s == math.inf
    processors.grant(5.0, [Grant(3), Grant(1)])
    assert drain(processors) == [(6.0, "1")]


JOBS = st.lists(
    st.tuples(
        st.floats(0, 10),  # when
        st.integers(0, 1),  # whose
        st.floats(0.01, 3),  # how much
    ),
    min_size=1,
    max_size=25,
)
GRANTS = st.sampled_from(
    [None, (Grant(2), Grant(2)), HALVES, (Grant(0, 1), Grant(3, 0)), (Grant(3), Grant(1))]
)


def worked_out_anew(
    jobs: list[tuple[float, int, float]], grants: Sequence[Grant] | None
) -> dict[int, float]:
    """Return when each job ends; this oracle calculates every job's progress at every change."""
    left = {}
    to_come = sorted(range(len(jobs)), key=lambda i: (jobs[i][0], i))
    now_s, ended = 0.0, {}
    while left or to_come:
        counts = [sum(jobs[i][1] == number for i in left) for number in (0, 1)]
        rates = {}
        for i in left:
            number = jobs[i][1]
            if grants is None:
                capacity, sharers = 4.0, len(left)
            else:
                whole, partner = grants[number]
                capacity, sharers = float(whole), counts[number]
                if partner is not None:
                    is_contested = all(counts[k] > grants[k].whole for k in (0, 1))
                    capacity += 0.5 if is_contested else 1.0
            rates[i] = min(1.0, capacity / sharers)
        end_s, first = min(((now_s + left[i] / rates[i], i) for i in left), default=(math.inf, -1))
        if to_come and jobs[to_come[0]][0] <= end_s:
            first = to_come.pop(0)
            end_s = jobs[first][0]
            left = {i: left[i] - rates[i] * (end_s - now_s) for i in left}
            left[first] = jobs[first][2]
        else:
            left = {i: left[i] - rates[i] * (end_s - now_s) for i in left if i != first}
            ended[first] = end_s
        now_s = end_s
    return ended


@settings(max_examples=60, deadline=None)
@given(jobs=JOBS, grants=GRANTS)
def test_every_job_ends_when_the_oracle_says(jobs, grants):
    processors = SharedProcessors[int](2, 4)
    processors.grant(0.0, grants)
    ended = {}
    for i in sorted(range(len(jobs)), key=lambda i: (jobs[i][0], i)):
        at_s, number, work_s = jobs[i]
        while processors.next_s < at_s:
            now_s = processors.next_s
            ended[processors.advance(now_s)] = now_s
        processors.start(at_s, number, work_s, i)
    while processors.next_s < math.inf:
        now_s = processors.next_s
        ended[processors.advance(now_s)] = now_s
    assert ended == pytest.approx(worked_out_anew(jobs, grants), abs=1e-6)
