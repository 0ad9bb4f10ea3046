"""The whole chain: customers, the gateway as a process, Gunicorn with the sentry, PostgreSQL.

Owns: a gateway before the bare project, what gateway and shop have counted, how a customer leaves.
Must not know: what any test wants of it.
"""

import http.client
import time
from collections import Counter
from contextlib import contextmanager
from typing import Any

from tests.gateway import process
from tests.shop.sentry import project as bare
from tests.waiting import until

# The bare project's pages as page types; its other pages go beside the policy.
RULES = """
[[rule]]
page = "Br-1"
methods = ["GET"]
path = "/sleep/.*"

[[rule]]
page = "Br-2"
methods = ["GET"]
path = "/stream/.*"

[[rule]]
page = "Br-3"
methods = ["GET"]
path = "/(echo|short|linger)/.*"

[[rule]]
page = "Tr-4"
methods = ["POST"]
path = "/(write|transact)/.*"
"""

# Longer than any test: nothing here ends because somebody lost patience.
_NEVER_S = 3600
_LIMITS = ("cancel", "response", "head", "body", "idle")

WAYS = ("close", "reset")


class Chain:
    """A running gateway, the shop behind it, and the database behind that."""

    def __init__(self, shop, database, port, admin_port):
        self.shop = shop
        self.database = database
        self.port = port
        self._admin_port = admin_port

    def customer(self):
        """Somebody who has connected to the gateway."""
        return bare.Client(self.port)

    def snapshot(self):
        snapshot: dict[str, Any] = process.snapshot(self._admin_port)
        return snapshot

    def has(self, **wanted):
        """Wait until the gateway's snapshot says so; answers it."""

        def says():
            snapshot = self.snapshot()
            return snapshot if all(snapshot[name] == wanted[name] for name in wanted) else None

        snapshot: dict[str, Any] = until(says, f"the gateway with {wanted}")
        return snapshot

    def has_customers(self, count):
        """Wait until so many are connected to the gateway."""
        until(lambda: self.snapshot()["connections"]["customers"] == count, f"{count} connected")

    def has_left(self, before):
        """Wait until the gateway knows that one more has left whose request is in service."""
        until(
            lambda: (
                self.snapshot()["abandonment"]["left_in_service"]
                == before["abandonment"]["left_in_service"] + 1
            ),
            "the gateway aware of it",
        )

    def reached_shop(self, path):
        """Requests for this path that the shop has ever got."""
        return self.shop.said().count(f" {path}\n")

    def is_quiet(self):
        """The snapshot if nobody is connected, waits or is served."""
        snapshot = self.snapshot()
        there = (
            snapshot["connections"]["customers"],
            snapshot["in_service"],
            snapshot["waiting"],
            snapshot["other"]["in_service"],
            snapshot["other"]["waiting"],
        )
        return None if any(there) else snapshot

    def adds_up(self):
        """Wait until nobody is there any more; the counts of the snapshot answered add up."""
        snapshot: dict[str, Any] = until(self.is_quiet, "a quiet gateway")
        for page, n in snapshot["counts"].items():
            ways_in = ("dispatched", "dropped", "rejected", "withdrawn")
            assert n["arrived"] == sum(n[fate] for fate in ways_in), page
            ways_out = ("answered", "orphaned", "failed", "cancelled")
            assert n["dispatched"] == sum(n[fate] for fate in ways_out), page
        return snapshot

    def expect_settled(self, before, *, overdue=0, **grown):
        """As `adds_up`, and since `before` these fates have grown by so much, and no others."""
        after = self.adds_up()
        assert fates(after) - fates(before) == Counter(grown)
        assert after["abandonment"]["overdue"] - before["abandonment"]["overdue"] == overdue


def fates(snapshot):
    """Fate → requests of all kinds."""
    total: Counter[str] = Counter()
    for n in snapshot["counts"].values():
        total.update(n)
    return total


@contextmanager
def chain(shop, database, *, workers, **settings):
    """A gateway before this shop; abandonment is `cancel` unless the settings say otherwise."""
    rules = shop.log.with_name("pages.toml")
    rules.write_text(RULES)
    given = {f"{limit}_s": _NEVER_S for limit in _LIMITS}
    given |= {"workers": workers, "pages_file": rules, "abandonment": "cancel"} | settings
    options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    with process.gateway(shop.port, *options) as (_, port, admin_port):
        yield Chain(shop, database, port, admin_port)


def answer(customer):
    """Status and body of the next answer on this connection."""
    response = http.client.HTTPResponse(customer.socket)
    response.begin()
    try:
        return response.status, response.read()
    finally:
        response.close()


def hear(customer, ending):
    """Read until what has been said ends like this, and not a byte further."""
    said = b""
    while not said.endswith(ending):
        piece = customer.socket.recv(1)
        assert piece, said
        said += piece


def leave(customer, how):
    """Go, by FIN or RST; answers when."""
    left_s = time.monotonic()
    getattr(customer, how)()
    return left_s
