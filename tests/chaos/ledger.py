"""The buyers' answers compared with the database: orders, stock, money."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from common.seeded_shop import ACCOUNT_NAME, ACCOUNTS
from tests.chaos.buyers import FIRST_ACCOUNT, Purchase
from tests.chaos.runtimes import Runtime

_ORDERS = f"""
    SELECT shop_order.idempotency_key, 'DB-' || lpad(shop_order.id::text, 6, '0')
    FROM shop_order JOIN shop_customer ON shop_customer.id = customer_id
    WHERE username >= '{ACCOUNT_NAME % FIRST_ACCOUNT}' AND username < '{ACCOUNT_NAME % ACCOUNTS}'
"""
# A copy is on its shelf or in an order: the two together never change.
_COPIES = """
    SELECT shop_book.id, stock + coalesce(sum(quantity), 0)
    FROM shop_book LEFT JOIN shop_orderline ON book_id = shop_book.id
    GROUP BY shop_book.id ORDER BY shop_book.id
"""
_WRONG_TOTALS = """
    SELECT shop_order.id FROM shop_order LEFT JOIN shop_orderline ON order_id = shop_order.id
    GROUP BY shop_order.id
    HAVING count(shop_orderline.id) = 0 OR total_cents <> sum(quantity * unit_price_cents)
"""

# The ad server counts each banner that it places twice: for its contract and for the page.
_IMPRESSIONS = """
    SELECT (SELECT coalesce(sum(delivered), 0) FROM ads.ads_delivery),
           (SELECT coalesce(sum(impressions), 0) FROM ads.ads_placement)
"""
_FEW = 10
_MAKE_SCARCE = f"""
    UPDATE shop_book SET stock = {_FEW}
    FROM (SELECT id, stock FROM shop_book WHERE id > 4000 AND stock > {_FEW} ORDER BY id LIMIT 3) b
    WHERE shop_book.id = b.id RETURNING b.id, b.stock - {_FEW}
"""


@contextmanager
def few_copies(runtime: Runtime) -> Iterator[list[int]]:
    """Leave few copies of three further books during the block; yield their ids."""
    put_aside = [(int(id), int(copies)) for id, copies in runtime.rows(_MAKE_SCARCE)]
    yield [id for id, _ in put_aside]
    for id, copies in put_aside:
        runtime.rows(f"UPDATE shop_book SET stock = stock + {copies} WHERE id = {id} RETURNING id")


@dataclass(frozen=True)
class Books:
    """The shop's books at one moment."""

    orders: frozenset[tuple[str, ...]]
    copies: tuple[tuple[str, ...], ...]
    of_banners: int
    """Impressions that the ad server has counted for its contracts."""
    of_pages: int
    """Impressions that the ad server has counted for pages."""

    @classmethod
    def of(cls, runtime: Runtime) -> Self:
        [(of_banners, of_pages)] = runtime.rows(_IMPRESSIONS)
        return cls(
            frozenset(runtime.rows(_ORDERS)),
            tuple(runtime.rows(_COPIES)),
            int(of_banners),
            int(of_pages),
        )


@dataclass(frozen=True)
class Balance:
    """The fates of the purchases between two moments."""

    purchases: int
    confirmed: int
    lost: int
    """Orders that a buyer was shown, and that the database does not have."""
    doubled: int
    """Orders beyond the first of a purchase, or without a purchase."""
    given_up: tuple[str, ...]
    copies_add_up: bool
    money_adds_up: bool
    keys: int
    """Keys of payment forms; each is the key of one order, or of none."""
    orders: int
    """New orders in the database."""
    shown_two: int
    """Purchases whose buyer was shown more than one number."""
    refused_yet_ordered: int
    """Purchases whose buyer last read that nothing was ordered, although it was."""
    banners: int
    """New impressions that the ad server has for its banners."""
    banners_add_up: bool
    """Whether the impressions of banners and pages are equal."""

    @property
    def adds_up(self) -> bool:
        return self.copies_add_up and self.money_adds_up and self.banners_add_up


def balance(before: Books, runtime: Runtime, purchases: Sequence[Purchase]) -> Balance:
    """Return the balance from `before` until now."""
    now = Books.of(runtime)
    new = now.orders - before.orders
    by_key = dict(new)
    expected = sum(any(key in by_key for key in one.keys) for one in purchases)
    return Balance(
        purchases=len(purchases),
        confirmed=sum(bool(one.number) for one in purchases),
        lost=sum(
            bool(one.number) and one.number not in {by_key.get(key) for key in one.keys}
            for one in purchases
        ),
        doubled=len(new) - expected,
        given_up=tuple(one.given_up for one in purchases if one.given_up),
        copies_add_up=now.copies == before.copies,
        money_adds_up=runtime.rows(_WRONG_TOTALS) == [],
        keys=len({key for one in purchases for key in one.keys}),
        orders=len(new),
        shown_two=sum(len(one.numbers) > 1 for one in purchases),
        refused_yet_ordered=sum(
            one.refused and any(key in by_key for key in one.keys) for one in purchases
        ),
        banners=now.of_banners - before.of_banners,
        banners_add_up=now.of_banners - before.of_banners == now.of_pages - before.of_pages,
    )
