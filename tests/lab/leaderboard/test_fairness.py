"""The sessions that get all pages, by length, and the time until the others know that they will
not."""

import pytest

from lab.leaderboard.fairness import FairnessRow, completed_table, fairness_of, waiting_table
from tests.lab.attempt_tables import RUSH, SHOPPERS


def test_of_the_rush_the_buyer_gets_everything():
    """1 (three pages) gives up after 10 s at its second, 2 (two pages) is dropped at once."""
    found = fairness_of(RUSH)
    assert found.completed_ratio == {
        "1 request": None, "2": 0.0, "3": 0.0, "4 to 6": None, "7 (buyers)": 1.0,
    }  # fmt: skip
    assert found.wait_median_s["2"] == pytest.approx(0.0)
    assert found.wait_median_s["3"] == pytest.approx(10.0)
    assert found.wait_median_s["7 (buyers)"] is None
    assert found.told_ratio == pytest.approx(0.5)
    assert found.wait_all_median_s == pytest.approx(5.0)


def test_retries_belong_to_the_wait():
    """One shopper is rejected when it retries, 9 s after its first attempt."""
    found = fairness_of(SHOPPERS)
    assert found.completed_ratio["1 request"] == pytest.approx(1 / 2)
    assert found.wait_median_s["1 request"] == pytest.approx(9.0)
    assert found.wait_median_s["2"] == pytest.approx(0.0)
    assert found.told_ratio == 1.0


def test_tables_have_a_row_per_policy():
    row = FairnessRow("sq", "SQ", (fairness_of(RUSH), fairness_of(RUSH)))
    assert completed_table([row], 1.4).rows == [("SQ", "–", "0 ± 0", "0 ± 0", "–", "100 ± 0")]
    (waits,) = waiting_table([row], 1.4).rows
    assert waits[2:4] == ("0.0 ± 0.0", "10.0 ± 0.0")
    assert waits[-1] == "50 ± 0"
