"""Two long calls at the same time: the later one wins."""

import pytest

from gateway.turns import ChangeOrder, OvertakenError


def test_who_replaces_is_overtaken_by_whatever_was_asked_later():
    for later in ("take", "add"):
        turns = ChangeOrder()
        first, second = turns.ask(), turns.ask()
        getattr(turns, later)(second)
        with pytest.raises(OvertakenError):
            turns.take(first)
        turns.take(turns.ask())


def test_who_adds_is_overtaken_by_who_replaces_alone():
    turns = ChangeOrder()
    first, second, third = turns.ask(), turns.ask(), turns.ask()
    turns.add(second)
    turns.check(first)
    turns.take(third)
    with pytest.raises(OvertakenError):
        turns.check(first)


def test_in_order_all_hold():
    turns = ChangeOrder()
    first, second = turns.ask(), turns.ask()
    turns.take(first)
    turns.check(second)
    turns.add(second)
    turns.take(turns.ask())
