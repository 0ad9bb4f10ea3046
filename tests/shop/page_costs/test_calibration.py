"""The calibration's arithmetic and its command line."""

import random

import pytest

from shop.page_costs.calibration import Request, book_on_sale, summarised
from tests.programs import python

pytestmark = pytest.mark.slow


def seen(*pairs):
    return [
        Request(execution, drawn, 0.01, 0.004, 0.001, 3, execution) for execution, drawn in pairs
    ]


def test_what_chance_does_not_touch_is_judged():
    line = summarised("Br-1", 0.2, 10, seen((0.0305, 0.030), (0.0105, 0.010)))
    assert line.wanted_s == pytest.approx(0.020)
    assert line.measured_s == pytest.approx(0.0205)
    assert line.deviation_ratio == pytest.approx(0.025)
    assert line.passes


@pytest.mark.parametrize("off", [0.0011, -0.0011])
def test_beyond_five_percent_fails(off):
    assert not summarised("Br-1", 0.2, 10, seen((0.02 + off, 0.02), (0.03 + off, 0.03))).passes


def test_bought_books_are_in_the_catalogue_and_in_stock():
    rng = random.Random(1)
    bought = {book_on_sale(rng, 194) for _ in range(5000)}
    assert bought == set(range(1, 195)) - {97, 194}


def calibrate(*arguments):
    return python("-m", "shop", "calibrate", *arguments)


def test_against_a_running_shop(running_shop):
    """Whether it passes depends on the machine's other work; that it measures does not."""
    ended = calibrate(
        "--url", running_shop.url, "--controller-url", running_shop.controller_url,
        "--rounds", "3", "--time-scale", "20",
    )  # fmt: skip
    assert ended.returncode in (0, 1), ended.stderr
    for page in ("Br-1", "Tr-4"):
        assert page in ended.stdout
    assert "CPU time of Gunicorn" in ended.stdout
    assert running_shop.controller.call("GET", "/orders")["orders"] == 0


def test_no_shop_is_said_in_one_line():
    ended = calibrate("--url", "http://127.0.0.1:9", "--controller-url", "http://127.0.0.1:9")
    assert ended.returncode == 1
    assert "does not answer" in ended.stderr
    assert "Traceback" not in ended.stderr
