"""Impressions are due evenly over a contract's time."""

from datetime import UTC, datetime, timedelta

import pytest

from shop.ads.inventory import due

START = datetime(2026, 11, 1, tzinfo=UTC)
END = START + timedelta(days=10)


@pytest.mark.parametrize(
    ("days", "expected"),
    [(-1, 0), (0, 0), (0.001, 1), (5, 500), (9.999, 1000), (10, 1000), (20, 1000)],
)
def test_impressions_are_due_evenly(days, expected):
    assert due(1000, START, END, START + timedelta(days=days)) == expected
