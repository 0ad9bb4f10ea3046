"""A purchase, which may become an order: its books, idempotency key, customer and address.

Each form of the checkout carries its purchase, signed by the shop. A customer may therefore have
several purchases open. If the session is lost, the customer only has to sign in again. The session
keeps the latest purchase, for pages that are requested without a form.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from django.core import signing

from shop.cart import Quantities

_SALT = "shop.checkout.purchase"
MAX_AGE_S = 24 * 3600
"""The real seconds for which a form of the checkout remains valid."""


class Unreadable(Exception):  # noqa: N818 -- a fact about a form, not a fault
    """The error for a form whose purchase is too old, or was not signed by this shop."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase. `wanted` maps book ids to numbers of copies; `key` is the idempotency key."""

    wanted: Quantities
    key: uuid.UUID
    customer: int | None = None
    """The id of the customer who received the page with this form; None before the sign-in."""
    address: Mapping[str, str] | None = None
    """The delivery address that `customer` has entered."""
    total_cents: int | None = None
    """The total on the page with this form."""

    def for_customer(self, customer: int) -> Self:
        """Return this purchase for the customer with this id; another customer's address is
        removed.
        """
        if self.customer == customer:
            return self
        return replace(self, customer=customer, address=None)

    def or_as_kept(self, kept: "Purchase | None") -> "Purchase":
        """Return this purchase; if it has no address, add the address that the session keeps for
        the same purchase.
        """
        if self.address or kept is None:
            return self
        is_same = (kept.key, kept.customer) == (self.key, self.customer)
        return replace(self, address=kept.address) if is_same else self

    def kept(self) -> dict[str, Any]:
        state = {
            "wanted": {str(book): copies for book, copies in self.wanted.items()},
            "key": str(self.key),
            "customer": self.customer,
            "address": self.address and dict(self.address),
            "total_cents": self.total_cents,
        }
        return {name: value for name, value in state.items() if value is not None}

    def signed(self) -> str:
        return signing.dumps(self.kept(), salt=_SALT)

    def link(self) -> str:
        """Return the signed purchase for a URL. It has no address, because logs contain URLs."""
        return replace(self, address=None).signed()


def begun(wanted: Quantities) -> Purchase:
    """Return a new purchase of these copies, with a new key."""
    return Purchase(wanted, uuid.uuid4())


def from_kept(state: Mapping[str, Any]) -> Purchase | None:
    """Return the purchase in this data from a session or a form; None if it has no books. The data
    may be of an older version of the shop.
    """
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
    """Return the purchase in a form's signed text; raise Unreadable if it is invalid."""
    try:
        purchase = from_kept(signing.loads(text, salt=_SALT, max_age=MAX_AGE_S))
    except signing.BadSignature:
        purchase = None
    if purchase is None:
        raise Unreadable
    return purchase
