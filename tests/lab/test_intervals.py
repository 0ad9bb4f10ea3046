import math

import pytest

from lab.intervals import (
    Estimate,
    differences,
    estimate,
    over_parts,
    paired,
    simultaneous,
    t_quantile,
)


def test_three_repetitions_by_hand():
    # mean 4, standard deviation 2, t(2) = 4.303: 4.303 × 2 / √3
    found = estimate([2.0, 4.0, 6.0])
    assert found.mean == 4.0
    assert found.half_width == pytest.approx(4.303 * 2 / math.sqrt(3), rel=1e-3)
    assert found.text(1) == "4.0 ± 5.0"


def test_one_run_has_no_interval():
    assert estimate([1234.5]).half_width is None
    assert estimate([1234.5]).text() == "1,234"


@pytest.mark.parametrize(
    ("probability", "freedom", "printed"),
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 4, 2.776), (0.975, 30, 2.042),
     (0.975, 120, 1.980), (0.995, 4, 4.604), (0.995, 9, 3.250), (0.9995, 5, 6.869)],
)  # fmt: skip
def test_quantiles_are_those_of_printed_tables(probability, freedom, printed):
    assert t_quantile(probability, freedom) == pytest.approx(printed, abs=6e-4)


def test_estimates_that_hold_together_have_wider_intervals():
    """Each of ten samples has 99.5 %: t(2) at 0.9975 is 14.089."""
    alone, together = estimate([2.0, 4.0, 6.0]), simultaneous([2.0, 4.0, 6.0], 10)
    assert together.mean == alone.mean
    assert together.half_width == pytest.approx(14.089 * 2 / math.sqrt(3), rel=1e-3)
    assert simultaneous([2.0, 4.0, 6.0], 1) == alone
    assert simultaneous([2.0], 10) == Estimate(2.0, None)


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="no repetitions"):
        estimate([])


def test_there_is_no_negative_zero():
    assert estimate([-0.001, -0.002]).text(1).startswith("0.0 ± ")
    assert estimate([-0.4]).text() == "0"


def test_differences_are_of_the_seeds_that_both_have():
    assert differences({1: 5.0, 3: 2.0}, {3: 1.5, 2: 9.0}) == {3: 0.5}


def test_over_parts_a_repetition_is_a_seed_that_every_part_has():
    whole = over_parts([{1: 2.0, 2: 4.0}, {2: 6.0, 1: 4.0, 3: 99.0}, {}])
    assert (whole.mean, whole.half_width) == (4.0, pytest.approx(12.706 * 1.0, rel=1e-3))
    assert over_parts([{1: 2.0}, {2: 6.0}]) == Estimate(4.0, None)
    with pytest.raises(ValueError, match="no repetitions"):
        over_parts([{}])


@pytest.mark.parametrize(
    ("mean", "half_width", "above", "below"),
    [(2.0, 1.0, True, False), (-2.0, 1.0, False, True), (1.0, 1.0, False, False),
     (2.0, None, False, False)],
)  # fmt: skip
def test_an_interval_lies_above_or_below_nothing_as_a_whole(mean, half_width, above, below):
    found = Estimate(mean, half_width)
    assert (found.is_above_zero, found.is_below_zero) == (above, below)


def test_paired_differences_leave_out_what_both_sides_have_in_common():
    """The customers of a seed are good or bad for both; the difference of 0.1 is not chance."""
    these, those = {1: 0.5, 2: 0.9, 3: 0.7}, {1: 0.4, 2: 0.8, 3: 0.6, 4: 0.1}
    found = paired([these], [those])
    assert found.mean == pytest.approx(0.1)
    assert found.half_width == pytest.approx(0.0, abs=1e-9)
    assert found.is_above_zero
    assert paired([{1: 1.0}], [{2: 1.0}]) is None
