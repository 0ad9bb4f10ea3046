"""What the buyers were told, held against the database: orders, stock, money."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from tests.chaos.buyers import FIRST_ACCOUNT, Purchase
from tests.chaos.runtimes import Runtime

_ORDERS = f"""
    SELECT shop_order.idempotency_key, 'DB-' || lpad(shop_order.id::text, 6, '0')
    FROM shop_order JOIN shop_customer ON shop_customer.id = customer_id
    WHERE username >= 'customer-{FIRST_ACCOUNT:04d}' AND username < 'customer-1000'
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


@dataclass(frozen=True)
class Books:
    """The shop's books at one moment."""

    orders: frozenset[tuple[str, ...]]
    copies: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, runtime: Runtime) -> Self:
        return cls(frozenset(runtime.rows(_ORDERS)), tuple(runtime.rows(_COPIES)))


@dataclass(frozen=True)
class Balance:
    """What became of the purchases between two moments."""

    purchases: int
    confirmed: int
    lost: int
    """Shown to their buyer, and not in the database."""
    doubled: int
    """Orders beyond the first of a purchase, or that nobody meant to place."""
    given_up: tuple[str, ...]
    copies_add_up: bool
    money_adds_up: bool

    @property
    def adds_up(self) -> bool:
        return self.copies_add_up and self.money_adds_up


def balance(before: Books, runtime: Runtime, purchases: Sequence[Purchase]) -> Balance:
    """From `before` until now."""
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
    )
