"""The streams of the session model never change: results that were kept can be drawn again.

To ten digits: the last bits of a logarithm are the C library's.
"""

import hashlib
from itertools import islice

import pytest

from loadgen.workload.draws import LARGEST_MAX_RETRIES, LONGEST_WALK, address, stream_key, uniform
from loadgen.workload.sessions import Customers, SessionModel


def test_the_customers_of_a_seed_stay_who_they_are():
    customers = Customers(SessionModel(think_time_mean_s=7), 9, 2.0)
    assert list(islice(customers.arrivals(), 3)) == pytest.approx(
        [0.3811618286466, 0.7138357429676, 0.9577033060983], rel=1e-10
    )
    assert [customers.walk(session) for session in range(4)] == [
        ("Br-1", "Br-3"),
        ("Br-1", "Br-3"),
        ("Br-1", "Br-3", "Br-4"),
        ("Br-1", "Br-2"),
    ]
    assert customers.patience_s(7, 2, 3) == pytest.approx(19.85611770506, rel=1e-10)
    assert [customers.retries(7, 2, attempt) for attempt in (1, 2)] == [False, True]
    assert customers.think_time_s(7, 2) == pytest.approx(4.019300940739, rel=1e-10)


def test_so_do_hundreds_of_them():
    quota = Customers(SessionModel(think_time_mean_s=7), 9, 2.0)
    chance = Customers(SessionModel(walks="chance"), 9, 2.0)
    seen = hashlib.sha256()
    for session in range(200):
        draws = [
            (
                f"{quota.patience_s(session, step, attempt):.9e}",
                quota.retries(session, step, attempt),
                f"{quota.think_time_s(session, step):.9e}",
            )
            for step in range(4)
            for attempt in (1, 2, 3)
        ]
        seen.update(repr((quota.walk(session), chance.walk(session), draws)).encode())
    seen.update(repr([f"{time_s:.9e}" for time_s in islice(quota.arrivals(), 500)]).encode())
    # Recorded before session lengths came into the model.
    assert seen.hexdigest() == "b70027693508d094f799cbdc88dd1637ac34ed611163878b6b42724846741056"


def test_every_attempt_has_a_position_of_its_own():
    sessions, steps = (0, 1, 2, 10**6), (0, 1, LONGEST_WALK - 1)
    attempts = (0, 1, LARGEST_MAX_RETRIES + 1)
    positions = {address(i, k, j) for i in sessions for k in steps for j in attempts}
    assert len(positions) == len(sessions) * len(steps) * len(attempts)


def test_draws_lie_in_the_unit_interval():
    key = stream_key(1, "a concern")
    assert all(0 <= uniform(key, position) < 1 for position in range(10_000))
