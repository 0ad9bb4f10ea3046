"""The CPUs of several shops at the same time, and the error where there are too few."""

import pytest

from lab.errors import SpecError
from lab.spec.shop_cpus import ShopCpus, most_shops, plan
from runtime.settings import load


def machine(shop, other):
    return load().changed(shop_cpus=shop, other_cpus=other)


def test_the_first_shop_has_the_appliances_own_cpu_the_others_the_highest_left():
    four = machine((3,), (0, 1, 2))
    assert plan(four, 2) == ShopCpus(((3,), (2,)), (0, 1))
    assert plan(four, 3) == ShopCpus(((3,), (2,), (1,)), (0,))
    assert most_shops(four) == 3


def test_each_shop_has_as_many_cpus_as_the_appliances():
    eight = machine((6, 7), (0, 1, 2, 3, 4))
    assert plan(eight, 3) == ShopCpus(((6, 7), (3, 4), (1, 2)), (0,))
    assert most_shops(eight) == 3
    assert most_shops(machine((14, 15), tuple(range(14)))) == 4


@pytest.mark.parametrize(
    ("shop", "other", "shops", "needed"),
    [
        ((1,), (0,), 2, "2 shops of 1 CPU each, and 1 CPU for everything else, need 3 CPUs"),
        ((1,), (0,), 2, "; this machine has 2 ("),
        ((3,), (0, 1, 2), 4, "need 5 CPUs; this machine has 4"),
        ((2, 3), (0, 1), 2, "2 shops of 2 CPUs each, and 1 CPU for everything else, need 5 CPUs"),
        ((0,), (0,), 2, "need 3 CPUs; this machine has 1 (0)"),
    ],
)  # fmt: skip
def test_too_few_are_refused_with_what_to_do_instead(shop, other, shops, needed):
    with pytest.raises(SpecError) as refusal:
        plan(machine(shop, other), shops)
    message = str(refusal.value)
    assert message.startswith("at_once: ")
    assert "\n" not in message
    assert needed in message
    assert "one policy after the other" in message
    assert "--crowded" in message


def test_crowded_shops_share_the_appliances_cpu_and_only_where_they_must():
    two = machine((1,), (0,))
    assert plan(two, 3, "crowded") == ShopCpus(((1,),) * 3, (0,), crowded=True)
    assert plan(machine((2,), (0, 1)), 2, "crowded") == ShopCpus(((2,), (1,)), (0,))
    assert plan(machine((0,), (0,)), 2, "crowded").rest == (0,)
    assert most_shops(two) == most_shops(machine((0,), (0,))) == 0
