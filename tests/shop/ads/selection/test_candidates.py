"""The search finds exactly the banners that fulfil the request."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.ads import inventory
from shop.ads.selection import candidates
from tests.shop.ads.inventories import CONCEPTS, DAY_S, NOON_S, SIZES, banner, banners


def find(held, delivered, concept=0, size=0, time_s=NOON_S):
    wanted = candidates.Wanted(size, time_s)
    rows = candidates.find(held, np.array(delivered, np.float64), wanted, concept)
    return rows.tolist()


@given(
    banners(),
    st.integers(0, SIZES - 1),
    st.integers(0, CONCEPTS - 1),
    st.floats(-DAY_S, 3 * DAY_S),
    st.randoms(use_true_random=False),
)
def test_the_scan_agrees_with_the_rule_written_out(made, size, concept, time_s, rng):
    delivered = [rng.randint(0, 50) for _ in made]
    expected = [
        row
        for row, one in enumerate(made)
        if concept in one.concepts
        and one.size == size
        and time_s < one.ends_s
        and delivered[row]
        < (time_s - one.starts_s) * (one.contracted / (one.ends_s - one.starts_s))
    ]
    assert find(inventory.of(made), delivered, concept, size, time_s) == expected


def test_candidates_of_every_block_are_found():
    rows = 2 * candidates.BLOCK_ROWS + 10
    first, second = rows // 3, 2 * rows // 3
    wanted = [0, first - 1, first, second - 1, second, rows - 1]
    concepts = np.full((inventory.MOST_CONCEPTS, rows), inventory.NO_CONCEPT)
    concepts[3, wanted] = 7
    held = inventory.of_columns(
        id=np.arange(rows),
        advertiser=np.ones(rows),
        size=np.zeros(rows),
        concepts=concepts,
        contracted=np.ones(rows),
        starts_s=np.zeros(rows),
        ends_s=np.full(rows, DAY_S),
        not_beside_banners={},
        not_beside_advertisers={},
    )
    assert find(held, np.zeros(rows), concept=7) == wanted


@pytest.mark.parametrize(
    ("time_s", "delivered", "due"),
    [
        (-1.0, 0, False),  # before it starts
        (0.0, 0, False),
        (1.0, 0, True),
        (NOON_S, 499, True),  # half of the time, half of the impressions
        (NOON_S, 500, False),
        (DAY_S - 1, 999, True),
        (DAY_S - 1, 1000, False),
        (DAY_S, 0, False),  # its time is over
    ],
)
def test_a_banner_is_due_at_the_pace_of_its_contract(time_s, delivered, due):
    found = find(inventory.of([banner(1, contracted=1000)]), [delivered], time_s=time_s)
    assert found == ([0] if due else [])


def test_the_common_list_has_every_candidate_once_and_in_order():
    found = [np.array([4, 9]), np.array([], np.int64), np.array([1, 4])]
    assert candidates.common(found, 10).tolist() == [1, 4, 9]
    assert candidates.common([], 10).tolist() == []
