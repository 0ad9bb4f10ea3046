"""Inventories for tests: made by hand, or drawn by Hypothesis."""

import numpy as np
from hypothesis import strategies as st

from shop.ads import inventory
from shop.ads.delivery.ledger import Ledger
from shop.ads.inventory import Banner, Inventory

DAY_S = 86_400.0
NOON_S = 0.5 * DAY_S
SIZES, CONCEPTS, ADVERTISERS = 3, 8, 5


def banner(id, **properties):
    """Return a banner from 0 to DAY_S, size 0, concept 0, unless `properties` change it."""
    usual: dict[str, object] = {
        "advertiser": id, "size": 0, "concepts": (0,), "contracted": 1000,
        "starts_s": 0.0, "ends_s": DAY_S,
    }  # fmt: skip
    return Banner(id, **{**usual, **properties})  # type: ignore[arg-type]


def ledger(banners, delivered=None):
    """Return a ledger, by default without deliveries, with a block that no test uses up."""
    held = banners if isinstance(banners, Inventory) else inventory.of(banners)
    return Ledger(held, np.array(delivered or [0] * len(held), np.float64), block=10**9)


@st.composite
def banners(draw):
    """Draw 0 to 40 banners of few sizes, concepts and advertisers, many of which refuse one
    another."""
    ids = draw(st.lists(st.integers(1, 10_000), unique=True, max_size=40))
    made = []
    for id in ids:
        start = draw(st.floats(-DAY_S, DAY_S))
        concepts = draw(st.sets(st.integers(0, CONCEPTS - 1), max_size=inventory.MOST_CONCEPTS))
        others = st.sampled_from(ids)
        made.append(
            Banner(
                id=id,
                advertiser=draw(st.integers(1, ADVERTISERS)),
                size=draw(st.integers(0, SIZES - 1)),
                concepts=tuple(sorted(concepts)),
                contracted=draw(st.integers(0, 50)),
                starts_s=start,
                ends_s=start + draw(st.floats(1.0, 2 * DAY_S)),
                not_beside_banners=draw(st.frozensets(others, max_size=3)) - {id},
                not_beside_advertisers=draw(st.frozensets(st.integers(1, ADVERTISERS), max_size=2)),
            )
        )
    return made
