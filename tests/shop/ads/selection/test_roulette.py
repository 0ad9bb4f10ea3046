"""The roulette is the paper's, and it is fair."""

import random

import numpy as np
import pytest

from lab.analysis import published
from shop.ads.selection import placing

SEED = 20000801
DRAWS = 1_000_000
# Chi-square, 99.9 % point: 4 degrees of freedom for the paper's five banners.
CHI_SQUARE_4_999 = 18.467


@pytest.fixture(scope="module")
def example():
    return published.published()["ad_server"]["roulette_example"]


def test_the_worked_example_of_tables_1_and_2(example):
    weights = np.array(example["contracted"]) - np.array(example["delivered"])
    assert weights.tolist() == example["weight"]
    wheel = placing.cumulative(weights)
    assert wheel.tolist() == example["cumulative"]
    assert placing.position(wheel, example["drawn"]) == example["selected_index"]


def test_every_banner_has_as_many_numbers_as_its_weight():
    wheel = placing.cumulative(np.array([2, 0, 1, 3]))
    assert [placing.position(wheel, number) for number in range(6)] == [0, 0, 2, 3, 3, 3]


@pytest.mark.parametrize("weights", [[], [0], [0, 0, 0]])
def test_nothing_is_drawn_where_nothing_is_owed(weights):
    wheel = placing.cumulative(np.array(weights, np.int64))
    assert placing.draw(wheel, random.Random(SEED)) is None


def test_a_million_draws_match_the_weights(example):
    wheel = placing.cumulative(np.array(example["weight"]))
    rng = random.Random(SEED)
    drawn = np.bincount([placing.draw(wheel, rng) for _ in range(DRAWS)], minlength=5)
    expected = np.array(example["weight"]) / sum(example["weight"]) * DRAWS
    assert ((drawn - expected) ** 2 / expected).sum() < CHI_SQUARE_4_999
