import math

import pytest

from lab.experiments.intervals import estimate


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
