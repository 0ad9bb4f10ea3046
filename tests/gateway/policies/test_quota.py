"""Eq. 7 by hand, and an account that loses only quotas that are too old."""

from math import floor
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.policies.quota import QuotaAccount, sessions_rps


@pytest.mark.parametrize(
    ("capacity_rps", "length", "load", "cost", "expected"),
    [
        (1000, 5, 3.0, 1.0, 100.0),  # 1000 × (5 − 3) / (5 × 4)
        (1000, 15, 2.0, 1.0, 61.9047619047619),  # 1000 × 13 / (15 × 14)
        (100, 50, 1.5, 1.0, 1.979591836734694),  # 100 × 48.5 / (50 × 49)
        (1000, 5, 1.0, 1.0, 200.0),  # nobody is rejected: S_r / L
        (1000, 5, 0.4, 1.0, 200.0),
        (1000, 5, 5.0, 1.0, 0.0),  # rejections alone fill the server
        (1000, 5, 9.0, 1.0, 0.0),
        (1000, 5, 3.0, 0.0, 200.0),  # a gateway answers for the server
        (1000, 5, 3.0, 0.5, 155.55555555555554),  # 1000 × 3.5 / (5 × 4.5)
        (1000, 1, 3.0, 1.0, 1000.0),  # to reject saves nothing
    ],
)
def test_eq_7_by_hand(capacity_rps, length, load, cost, expected):
    assert sessions_rps(capacity_rps, length, load, cost) == pytest.approx(expected)


@given(st.floats(1, 1e5), st.floats(1.01, 500), st.floats(1, 20), st.floats(0, 5))
def test_sessions_and_rejections_fill_the_server_exactly(capacity_rps, length, load, cost):
    y = sessions_rps(capacity_rps, length, load, cost)
    x = load * capacity_rps / length - y
    assert 0 <= y <= capacity_rps / length * (1 + 1e-12)
    if length > cost and load * cost < length:
        assert y * length + x * cost == pytest.approx(capacity_rps)


def admit(account: QuotaAccount, arrivals: int) -> int:
    """Return how many of `arrivals` in one interval are admitted."""
    admitted = 0
    for _ in range(arrivals):
        if not account.is_used_up:
            account.take()
            admitted += 1
    return admitted


def run(quotas, arrivals, leftover_intervals):
    account, admitted = QuotaAccount(), []
    for quota, came in zip(quotas, arrivals, strict=True):
        account.begin(quota, leftover_intervals)
        admitted.append(admit(account, came))
    return admitted


@pytest.mark.parametrize(
    ("quotas", "arrivals", "leftover_intervals", "admitted"),
    [
        ([0.4] * 8, [9] * 8, 0, [0, 0, 1, 0, 1, 0, 0, 1]),  # fractions are carried
        ([0.1] * 10, [9] * 10, 0, [0] * 9 + [1]),  # ten tenths are one
        ([3.0] * 4, [1, 9, 9, 9], 0, [1, 3, 3, 3]),  # whole ones left over are lost
        ([3.0] * 4, [1, 9, 9, 9], 1, [1, 5, 3, 3]),  # or used in the next interval
        ([3.0] * 4, [1, 3, 9, 9], 1, [1, 3, 3, 3]),  # not one later
        ([3.0] * 4, [1, 3, 9, 9], 2, [1, 3, 5, 3]),  # unless it is one of the last two
        ([2.5] * 4, [0, 0, 9, 9], 1, [0, 0, 5, 3]),  # 2 of interval 1 lost, 0.5 never
        ([3.0, -1.5, 3.0], [9, 9, 9], 0, [3, 0, 1]),  # a debt is paid first
        ([3.0, -1.5, 3.0], [1, 9, 9], 1, [1, 0, 3]),  # out of leftovers, if there are any
    ],
)
def test_the_account_by_hand(quotas, arrivals, leftover_intervals, admitted):
    assert run(quotas, arrivals, leftover_intervals) == admitted


def test_the_own_quota_goes_first_so_that_leftovers_grow_old():
    """A stock kept for ever would let a burst in long after the lull it comes from."""
    assert run([3.0] * 6, [0, 3, 3, 3, 3, 9], 2) == [0, 3, 3, 3, 3, 3]


@given(st.integers(0), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_over_1000_full_intervals_the_admitted_are_the_quotas(seed, leftover_intervals):
    rng = Random(seed)
    quotas = [rng.uniform(0.0, 7.0) for _ in range(1000)]
    admitted = sum(run(quotas, [10] * len(quotas), leftover_intervals))
    assert admitted <= sum(quotas) + 1e-6
    assert admitted > sum(quotas) - 1 - 1e-6


HISTORY = st.lists(st.tuples(st.floats(-5.0, 10.0), st.integers(0, 30)), max_size=60)


@given(HISTORY, st.integers(0, 8))
def test_the_quota_is_never_exceeded_and_nothing_old_is_used(history, leftover_intervals):
    account, admitted, quotas = QuotaAccount(), [], []
    for quota, came in history:
        account.begin(quota, leftover_intervals)
        quotas.append(quota)
        admitted.append(admit(account, came))
        assert not admitted[-1] or sum(admitted) <= sum(quotas) + 1e-6
        usable = sum(max(0, floor(q + 1)) for q in quotas[-leftover_intervals - 1 :])
        assert admitted[-1] <= usable
