"""The console's benchmark: differences of pairs against the interval without viewers."""

import pytest

from bench.console.watched_runs import FIGURES, compared


def rows(*of_one_figure):
    return [(value,) * len(FIGURES) for value in of_one_figure]


UNWATCHED = rows(10.0, 12.0, 14.0)  # deviation 2: a result of three runs has ± 4.97


@pytest.mark.parametrize(
    ("watched", "difference", "half_width", "verdict"),
    [
        (rows(10.0, 12.0, 14.0), 0.0, 0.0, "within"),
        (rows(14.0, 16.0, 18.0), 4.0, 0.0, "within"),  # a result's interval is wider
        (rows(30.0, 32.0, 34.0), 20.0, 0.0, "beyond"),
        (rows(0.0, 2.0, 4.0), -10.0, 0.0, "beyond"),
        (rows(8.0, 12.0, 16.0), 0.0, 4.968, "within"),
        (rows(13.0, 12.0, 20.0), 3.0, 7.45, "undecided"),
        (rows(10.0, 32.0, 14.0), 20 / 3, 28.68, "undecided"),
    ],
)
def test_a_difference_is_held_against_the_interval_of_a_result(
    watched, difference, half_width, verdict
):
    found = compared(UNWATCHED, watched)
    assert [one.name for one in found] == list(FIGURES)
    for one in found:
        assert one.interval == pytest.approx(4.968, abs=1e-3)
        assert one.difference.mean == pytest.approx(difference)
        assert one.difference.half_width == pytest.approx(half_width, abs=0.01)
        assert one.verdict == verdict
