"""The single server: file sizes, and rejections ahead of the requests."""

import math
from collections import Counter

import pytest

from simulator.scenario import SPECWEB96, FifoServer, FileClass
from simulator.servers import SingleServer, file_service_times

FIXED = (FileClass(1.0, 1.0, 1.0),)


def server(**described: object) -> SingleServer:
    """Return a server of ten requests a second, all alike."""
    return SingleServer(FifoServer(capacity_rps=10.0, file_classes=FIXED, **described))


def test_files_are_the_four_classes_of_specweb96():
    uppers, services_s = file_service_times(FifoServer(capacity_rps=1000.0))
    shares = [upper - lower for lower, upper in zip([0.0, *uppers], [*uppers, 1.0], strict=True)]
    assert len(services_s) == 36
    for number, (share, smallest, largest) in enumerate(SPECWEB96):
        mine = slice(9 * number, 9 * number + 9)
        assert sum(shares[mine]) == pytest.approx(share)
        assert services_s[mine][-1] / services_s[mine][0] == pytest.approx(largest / smallest)
    mean_s = sum(share * s for share, s in zip(shares, services_s, strict=True))
    assert mean_s == pytest.approx(1 / 1000.0)
    # The mean file has 0.35 × 500 + 0.5 × 5000 + 0.14 × 50,000 + 0.01 × 500,000 bytes.
    assert services_s[8] == pytest.approx(900 / 14_675 / 1000.0)


def test_evenly_spaced_draws_meet_every_file_in_proportion():
    described = FifoServer(capacity_rps=1.0)
    uppers, services_s = file_service_times(described)
    shares = [upper - lower for lower, upper in zip([0.0, *uppers], [*uppers, 1.0], strict=True)]
    working = SingleServer(described)
    found = Counter()
    for i in range(9000):
        working.start(0.0, 1, 0, (i + 0.5) / 9000)
        found[working.next_s] += 1
        working.advance(working.next_s)
    assert [found[s] for s in services_s] == pytest.approx([9000 * s for s in shares], abs=1)


def test_rejections_wait_for_the_request_and_go_ahead_of_the_next():
    working = server()
    working.start(0.0, 7, 0, 0.5)
    working.reject(0.02)
    working.reject(0.03)
    assert working.next_s == pytest.approx(0.1)
    assert working.advance(0.1) == 7
    assert (working.free, working.next_s) == (0, pytest.approx(0.3))
    working.reject(0.25)
    assert working.next_s == pytest.approx(0.4)
    assert working.advance(working.next_s) == 0
    assert (working.free, working.next_s) == (1, math.inf)
    assert working.rejection_busy_s == pytest.approx(0.3)
    assert working.busy_until(9.0) == pytest.approx(0.4)


def test_a_rejection_keeps_an_idle_server_busy():
    working = server(rejection_cost=2.0)
    working.reject(1.0)
    assert (working.free, working.next_s) == (0, pytest.approx(1.2))
    assert working.busy_until(1.1) == pytest.approx(0.1)


@pytest.mark.parametrize("described", [{"rejection": "free"}, {"rejection_cost": 0.0}])
def test_a_rejection_may_cost_nothing(described):
    working = server(**described)
    working.reject(1.0)
    assert (working.free, working.next_s, working.busy_until(2.0)) == (1, math.inf, 0.0)


def test_a_cancelled_request_has_cost_what_it_took():
    working = server()
    working.start(0.0, 7, 0, 0.5)
    working.reject(0.01)
    working.cancel(0.04, 7)
    assert working.next_s == 0.04
    assert working.advance(0.04) == 7
    assert working.spent_s == 0.04
    assert working.next_s == pytest.approx(0.14)
