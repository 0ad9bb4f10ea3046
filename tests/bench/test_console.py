"""The console's benchmark: differences of pairs against the interval without viewers."""

import pytest

from bench.console_watched import FIGURES, compared


def rows(*of_one_figure):
    return [(value,) * len(FIGURES) for value in of_one_figure]


@pytest.mark.parametrize(
    ("watched", "difference", "is_within"),
    [
        (rows(10.0, 12.0, 14.0), 0.0, True),
        (rows(11.0, 13.0, 15.0), 1.0, True),  # the seeds differ by more
        (rows(30.0, 32.0, 34.0), 20.0, False),
        (rows(0.0, 2.0, 4.0), -10.0, False),
    ],
)
def test_a_difference_counts_if_it_is_beyond_the_interval_without_viewers(
    watched, difference, is_within
):
    found = compared(rows(10.0, 12.0, 14.0), watched)
    assert [one.name for one in found] == list(FIGURES)
    for one in found:
        assert one.difference.mean == pytest.approx(difference)
        assert one.difference.half_width == pytest.approx(0.0)  # of every pair the same
        assert one.is_within is is_within
