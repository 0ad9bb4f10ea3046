"""A page's banners: for its concepts, each once, none next to one that its contract excludes."""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.ads.selection.fan_out import FanOut
from shop.ads.selection.selector import Request, select
from tests.shop.ads.inventories import (
    CONCEPTS,
    DAY_S,
    NOON_S,
    SIZES,
    banner,
    banners,
    ledger,
)

FAN_OUT = FanOut({0: 1, 1: 2, 2: 4}, requests=1)


def draw(book, slots=1, size=0, concepts=(0,), priority=0, time_s=NOON_S, seed=1):
    request = Request(slots, size, concepts, priority)
    return [one.id for one in select(request, time_s, book, FAN_OUT, random.Random(seed))]


def may_stand_together(one, other):
    return not any(
        b.id in a.not_beside_banners or b.advertiser in a.not_beside_advertisers
        for a, b in ((one, other), (other, one))
    )


@given(
    banners(),
    st.integers(1, 8),
    st.integers(0, SIZES - 1),
    st.lists(st.integers(0, CONCEPTS - 1), max_size=CONCEPTS),
    st.floats(0.0, DAY_S),
    st.integers(0, 100),
)
def test_no_page_repeats_or_mixes_what_must_not_meet(made, slots, size, concepts, time_s, seed):
    book = ledger(made)
    by_id = {one.id: one for one in made}
    page = draw(book, slots, size, concepts, time_s=time_s, seed=seed)
    assert len(page) == len(set(page)) <= slots
    shown = [by_id[id] for id in page]
    assert all(may_stand_together(one, other) for one, other in combinations(shown, 2))
    for one in shown:
        assert one.size == size
        assert set(one.concepts) & set(concepts)
        assert one.starts_s < time_s < one.ends_s
    assert int(book.view.delivered.sum()) == len(page)
    if len(page) < slots:  # then nothing that is due could stand beside these
        row_of = book.view.inventory.row_of
        for one in made:
            due = (time_s - one.starts_s) * (one.contracted / (one.ends_s - one.starts_s)) > 0
            fits = one.size == size and set(one.concepts) & set(concepts) and time_s < one.ends_s
            if due and fits and one.id not in page:
                assert not all(may_stand_together(one, other) for other in shown), row_of


@given(banners(), st.integers(1, 8), st.integers(0, 100))
def test_the_number_of_threads_changes_nothing_but_the_time(made, slots, seed):
    pages = {
        tuple(draw(ledger(made), slots, 0, range(CONCEPTS), priority, seed=seed))
        for priority in (0, 1, 2)
    }
    assert len(pages) == 1


def test_a_level_that_does_not_exist_is_a_key_error():
    with pytest.raises(KeyError):
        draw(ledger([]), priority=3)


def test_an_advertiser_that_refuses_itself_is_on_a_page_once():
    made = [banner(id, advertiser=1, not_beside_advertisers=frozenset({1})) for id in range(1, 50)]
    assert len(draw(ledger(made), slots=8)) == 1


def test_banners_are_drawn_by_what_their_contracts_lack():
    made = [banner(1, contracted=4_000_000), banner(2, contracted=8_000_000)]
    book = ledger(made, [1_000_000, 2_000_000])
    rng = random.Random(7)
    draws = 3000
    drawn = [select(Request(1, 0, (0,)), NOON_S, book, FAN_OUT, rng)[0].id for _ in range(draws)]
    share = drawn.count(1) / draws
    # A third of the wheel; 4 standard deviations on either side.
    assert share == pytest.approx(1 / 3, abs=4 * (2 / 9 / draws) ** 0.5)


HOURS = 24
# Of an hour's share. An impression is due as soon as its time begins: the first hour has up to one
# more of each contract and the last one fewer, here one of eight at most.
EVEN_RATIO = 0.15


def day_of(requests_in_hour):
    """Return impressions by contract and hour: contracts of a whole day, 50 to 150 impressions.

    `requests_in_hour` gives the number of requests for two slots, spread over the hour.
    """
    rng = random.Random(12)
    made = [
        banner(id, concepts=(id % 4, 4 + id % 3), contracted=rng.randint(50, 150))
        for id in range(1, 37)
    ]
    book = ledger(made)
    by_hour = np.zeros((HOURS, len(made)))
    for hour in range(HOURS):
        before = book.view.delivered.copy()
        requests = requests_in_hour(hour)
        for number in range(requests):
            time_s = (hour + (number + 0.5) / requests) * DAY_S / HOURS
            concepts = (rng.randrange(4), 4 + rng.randrange(3))
            select(Request(2, 0, concepts), time_s, book, FAN_OUT, rng)
        by_hour[hour] = book.view.delivered - before
    return by_hour, np.array([one.contracted for one in made])


@pytest.mark.parametrize("busier", [0.0, 0.7], ids=["even traffic", "six times more at noon"])
def test_every_hour_has_its_share_of_a_day(busier):
    """This also holds with uneven traffic, as long as the quietest hour has enough slots."""

    def requests(hour):
        return round(400 * (1 - busier * np.cos(2 * np.pi * (hour + 0.5) / HOURS)))

    assert requests(12) / requests(0) == pytest.approx((1 + busier) / (1 - busier), rel=0.05)
    by_hour, contracted = day_of(requests)
    shares = by_hour.sum(axis=1) / contracted.sum()
    assert np.abs(shares * HOURS - 1).max() < EVEN_RATIO
    # And of each contract no hour has more than twice its share; that is 2 to 7 impressions.
    assert (by_hour <= 2 * contracted / HOURS + 1).all()
    assert (by_hour.sum(axis=0) >= 0.97 * contracted).all()


def test_a_quiet_night_is_made_up_for_and_the_rest_of_the_day_is_even():
    by_hour, contracted = day_of(lambda hour: 0 if hour < 6 else 600)
    assert (by_hour[:6] == 0).all()
    assert (by_hour.sum(axis=0) >= 0.97 * contracted).all()
    shares = by_hour.sum(axis=1) / contracted.sum()
    caught_up = next(h for h in range(6, HOURS) if shares[: h + 1].sum() >= 0.98 * (h + 1) / HOURS)
    assert caught_up < 10
    assert np.abs(shares[caught_up + 1 :] * HOURS - 1).max() < EVEN_RATIO
