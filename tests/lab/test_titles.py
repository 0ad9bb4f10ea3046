from typing import get_args

import pytest

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, Abandonment
from lab.baselines.sheets import PROXIES
from lab.wording import TITLES, title_of


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
