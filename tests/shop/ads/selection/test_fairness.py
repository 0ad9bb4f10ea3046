"""Draws compared with weights: groups, the chi-squared statistic, a running server."""

import random
from collections import Counter
from urllib.parse import urlsplit

import pytest

from shop.ads.selection import fairness
from tests.shop.ads.conftest import command

WEIGHTS = {1: 6_760, 2: 5_440, 3: 15_790, 4: 28_750, 5: 18_570}  # Table I of the paper


def test_chi_squared_is_the_one_of_the_worked_example():
    """Lab 5 computes this one by hand."""
    drawn = {4: 50, 5: 25, 3: 22, 1: 14, 2: 9}
    groups = fairness.groups_of(WEIGHTS, drawn, 5)
    assert [group.drawn for group in groups] == [50, 25, 22, 14, 9]
    assert [round(group.expected, 1) for group in groups] == [45.8, 29.6, 25.2, 10.8, 8.7]
    assert fairness.chi_squared(groups) == pytest.approx(2.47, abs=0.01)


def test_groups_are_of_similar_weight_and_have_every_banner_once():
    weights = {id: 1 + id % 50 for id in range(200)}
    groups = fairness.groups_of(weights, {}, 6)
    assert sum(group.banners for group in groups) == 200
    assert sum(group.weight for group in groups) == sum(weights.values())
    assert max(group.weight for group in groups) < 1.5 * min(group.weight for group in groups)


def test_draws_by_weight_fit_the_weights_and_not_equal_shares():
    rng = random.Random(1)
    drawn = Counter(rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=600))
    by_weight = fairness.groups_of(WEIGHTS, drawn, 5)
    equally = fairness.groups_of(WEIGHTS, drawn, 5, equal=True)
    assert fairness.chi_squared(by_weight) < fairness.CRITICAL[4]
    assert fairness.chi_squared(equally) > 10 * fairness.CRITICAL[4]


def test_a_running_server_draws_by_its_weights(ads):
    """The bound is exceeded by chance once in ten million tests."""
    where = urlsplit(ads.url)
    weights, drawn = fairness.draw(where.hostname, where.port, "468x60", "crime", 300)
    assert sum(drawn.values()) == 300
    groups = fairness.groups_of(weights, drawn, 5)
    assert fairness.chi_squared(groups) < 40


def test_a_server_that_is_away_is_an_error_for_people(ads_environment):
    done = command(ads_environment | {"DOORBUSTER_ADS_PORT": "1"}, "draws", "--draws", "1")
    assert done.returncode == 1
    assert "127.0.0.1:1 does not answer" in done.stderr
    assert "`make up` starts it" in done.stderr
