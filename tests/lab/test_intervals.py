import math

import pytest

from lab.experiments.intervals import Estimate, differences, estimate, over_parts


def test_three_repetitions_by_hand():
    # mean 4, standard deviation 2, t(2) = 4.303: 4.303 × 2 / √3
    found = estimate([2.0, 4.0, 6.0])
    assert found.mean == 4.0
    assert found.half_width == pytest.approx(4.303 * 2 / math.sqrt(3))
    assert found.text(1) == "4.0 ± 5.0"


def test_one_run_has_no_interval():
    assert estimate([1234.5]).half_width is None
    assert estimate([1234.5]).text() == "1,234"


def test_many_runs_use_the_normal_quantile():
    values = [0.0, 1.0] * 50
    deviation = math.sqrt(25 / 99)
    assert estimate(values).half_width == pytest.approx(1.96 * deviation / 10)


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
    assert (whole.mean, whole.half_width) == (4.0, pytest.approx(12.706 * 1.0))
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
