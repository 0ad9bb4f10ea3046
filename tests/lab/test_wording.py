"""Texts for users: titles and durations."""

from typing import get_args

import pytest

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, Abandonment
from lab.baselines.sheets import PROXIES
from lab.wording import TITLES, duration, title_of


def test_every_policy_proxy_and_abandonment_has_a_title():
    known = set(POLICIES) | set(PROXIES) | set(ADMISSIONS) | set(get_args(Abandonment))
    assert set(TITLES) == known - {NO_ADMISSION}


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("sq", "SQ"),
        ("8q-lifo-pri+sbac-hybrid", "8Q-LIFO-Pri + SBAC hybrid"),
        ("sq+cancel", "SQ + cancel"),
        ("my own", "my own"),
        ("sq+mine", "sq+mine"),
    ],
)
def test_combinations_are_put_together_and_labels_left_alone(key, title):
    assert title_of(key) == title


@pytest.mark.parametrize(
    ("real_s", "words"),
    [
        (0.0, "1 s"),
        (39.6, "40 s"),
        (89.4, "89 s"),
        (90.0, "2 min"),
        (180.0, "3 min"),
        (89 * 60.0, "89 min"),
        (90 * 60.0, "1 h 30 min"),
        (3 * 3600.0 + 59, "3 h 01 min"),
    ],
)
def test_a_duration_is_said_as_roughly_as_it_is_long(real_s: float, words: str) -> None:
    assert duration(real_s) == words
