"""Processor sharing: hand-made cases with known times."""

import math

import pytest

from loadgen.workload.sessions import PAGES
from simulator.scenario import SharedCpus
from simulator.servers import ProcessorSharing


def server(busy_s: float = 1.0, **described: object) -> ProcessorSharing:
    """Return a server on which every request runs for exactly `busy_s` (with `busy_ratio`, and
    waits)."""
    return ProcessorSharing(
        SharedCpus(
            mean_execution_s=dict.fromkeys(PAGES, busy_s),
            spread_ratio=0.0,
            **{"busy_ratio": 1.0, **described},
        )
    )


def drain(working: ProcessorSharing) -> list[tuple[float, int]]:
    """Return (time, id) of every request that ends, without further arrivals."""
    ended = []
    while working.next_s < math.inf:
        now_s = working.next_s
        id = working.advance(now_s)
        if id:
            ended.append((now_s, id))
    return ended


def ends(*expected: tuple[float, int]) -> list[tuple[object, int]]:
    return [(pytest.approx(time_s), id) for time_s, id in expected]


def test_two_requests_share_one_cpu():
    """The first has it alone for 0.5 s and shares it from then on."""
    working = server()
    working.start(0.0, 1, 0, 0.5)
    working.start(0.5, 2, 0, 0.5)
    assert drain(working) == ends((1.5, 1), (2.0, 2))
    assert working.busy_until(3.0) == pytest.approx(2.0)


def test_a_request_runs_on_one_cpu_at_most():
    working = server(cpus=4)
    working.start(0.0, 1, 0, 0.5)
    working.start(0.0, 2, 0, 0.5)
    assert drain(working) == ends((1.0, 1), (1.0, 2))
    assert working.busy_until(2.0) == pytest.approx(2.0)


def test_three_requests_on_two_cpus():
    working = server(cpus=2)
    for id in (1, 2, 3):
        working.start(0.0, id, 0, 0.5)
    assert drain(working) == ends((1.5, 1), (1.5, 2), (1.5, 3))


def test_waits_overlap_with_others_work():
    """0.5 s of CPU, then 0.5 s of waiting; the second uses the CPU while the first waits."""
    working = server(busy_ratio=0.5, slices=1)
    working.start(0.0, 1, 0, 0.5)
    working.start(0.5, 2, 0, 0.5)
    assert drain(working) == ends((1.0, 1), (1.5, 2))
    assert working.busy_until(2.0) == pytest.approx(1.0)


def test_slices_alternate():
    working = server(busy_ratio=0.75, slices=2)
    working.start(0.0, 1, 0, 0.5)
    seen = []
    while working.next_s < math.inf:
        seen.append(working.next_s)
        working.advance(working.next_s)
    assert seen == pytest.approx([0.375, 0.5, 0.875, 1.0])


def test_workers_are_counted():
    working = server(workers=2)
    working.start(0.0, 1, 0, 0.5)
    assert working.free == 1
    working.start(0.0, 2, 0, 0.5)
    assert working.free == 0
    drain(working)
    assert working.free == 2


def test_a_cancelled_request_leaves_the_cpu_to_the_others():
    working = server()
    working.start(0.0, 1, 0, 0.5)
    working.start(0.0, 2, 0, 0.5)
    working.cancel(1.0, 1)
    assert working.next_s == 1.0
    assert working.advance(1.0) == 1
    assert working.spent_s == pytest.approx(0.5)
    assert drain(working) == ends((1.5, 2))
    assert working.spent_s == pytest.approx(1.0)
    assert working.busy_until(2.0) == pytest.approx(1.5)


def test_a_request_may_be_cancelled_while_it_waits():
    working = server(busy_ratio=0.5, slices=1)
    working.start(0.0, 1, 0, 0.5)
    assert working.advance(working.next_s) == 0
    working.cancel(0.7, 1)
    assert working.advance(0.7) == 1
    assert working.spent_s == pytest.approx(0.5)
    assert drain(working) == []


def test_two_cancelled_at_once_are_given_back_one_by_one():
    working = server()
    for id in (1, 2, 3):
        working.start(0.0, id, 0, 0.5)
    working.cancel(0.3, 1)
    working.cancel(0.3, 3)
    assert {working.advance(0.3), working.advance(0.3)} == {1, 3}
    assert drain(working) == ends((1.2, 2))


@pytest.mark.parametrize(("work", "share"), [(0.0, 0.5), (0.5, 1.0), (0.75, 1.25)])
def test_execution_times_follow_the_page(work, share):
    described = SharedCpus(busy_ratio=1.0)
    for place, page in enumerate(PAGES):
        working = ProcessorSharing(described)
        working.start(0.0, 1, place, work)
        assert working.next_s == pytest.approx(share * described.mean_execution_s[page])
