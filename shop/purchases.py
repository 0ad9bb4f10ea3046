"""A purchase on its way to becoming an order: what is bought, under which key, by whom, where to.

Owns: the purchase's form in the session and, signed, in the checkout's pages. Must not know: pages,
stock, how an order is placed.

Every form of the checkout carries its own purchase, so that a browser may have several of them open
at once and a lost session costs a customer nothing but the way back. The session keeps the purchase
that was touched last, for a page that is asked for without a form.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from django.core import signing

from shop.cart import Quantities

_SALT = "shop.checkout.purchase"
MAX_AGE_S = 24 * 3600
"""How long a form of the checkout may be sent."""


class Unreadable(Exception):  # noqa: N818 -- a fact about a form, not a fault
    """The form's purchase is too old, or this shop has not signed it."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """Books, and the key under which they are ordered once."""

    wanted: Quantities
    key: uuid.UUID
    customer: int | None = None
    """The customer whose page the form was on; None before a sign-in."""
    address: Mapping[str, str] | None = None
    """The address to which `customer` wants the books sent."""
    total_cents: int | None = None
    """The total that the page with this form showed."""

    def for_customer(self, customer: int) -> Self:
        """The same books for this customer; the address of another one is left out."""
        if self.customer == customer:
            return self
        return replace(self, customer=customer, address=None)

    def or_as_kept(self, kept: "Purchase | None") -> "Purchase":
        """This one, with the address that the session has kept of it if it has none."""
        if self.address or kept is None:
            return self
        is_same = (kept.key, kept.customer) == (self.key, self.customer)
        return replace(self, address=kept.address) if is_same else self

    def kept(self) -> dict[str, Any]:
        """The purchase as the session keeps it."""
        state = {
            "wanted": {str(book): copies for book, copies in self.wanted.items()},
            "key": str(self.key),
            "customer": self.customer,
            "address": self.address and dict(self.address),
            "total_cents": self.total_cents,
        }
        return {name: value for name, value in state.items() if value is not None}

    def signed(self) -> str:
        """The purchase as a form carries it."""
        return signing.dumps(self.kept(), salt=_SALT)

    def link(self) -> str:
        """What an address of the shop carries: all but where it goes, which belongs in no log."""
        return replace(self, address=None).signed()


def begun(wanted: Quantities) -> Purchase:
    """A new purchase, under a new key."""
    return Purchase(wanted, uuid.uuid4())


def from_kept(state: Mapping[str, Any]) -> Purchase | None:
    """What the session has kept, also that of an older shop; None if it has kept none."""
    if not state.get("wanted"):
        return None
    customer = state.get("customer")
    return Purchase(
        wanted={int(book): copies for book, copies in state["wanted"].items()},
        key=uuid.UUID(state["key"]) if "key" in state else uuid.uuid4(),
        customer=customer,
        address=None if customer is None else state.get("address"),
        total_cents=state.get("total_cents"),
    )


def from_signed(text: str) -> Purchase:
    """What a form has carried. Raises Unreadable."""
    try:
        purchase = from_kept(signing.loads(text, salt=_SALT, max_age=MAX_AGE_S))
    except signing.BadSignature:
        purchase = None
    if purchase is None:
        raise Unreadable
    return purchase
