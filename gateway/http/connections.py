"""The registry of customers' connections with the limit on their number, and a timer for the
deadlines of many connections, accurate to `INTERVAL_S`.

A connection only sets its `deadline_s`, which is much cheaper than a timer for each connection.
"""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final, Protocol

INTERVAL_S: Final = 0.1
NEVER: Final = inf


class HasDeadline(Protocol):
    """An object with a deadline on the loop's clock (`NEVER` for none)."""

    deadline_s: float

    def deadline_passed(self) -> None:
        """Handle a deadline that has passed. The timer calls this method again in every interval
        until the object has a later deadline.
        """


class Deadlines:
    """A timer for the deadlines of all objects in `watched`. The timer runs between `start` and
    `stop`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self.watched: set[HasDeadline] = set()

    def start(self) -> None:
        self._timer = self._loop.call_later(INTERVAL_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def check(self) -> None:
        """Call `deadline_passed` of every object whose deadline has passed."""
        now_s = self._loop.time()
        # One object's deadline can move while another object handles its own.
        for one in tuple(self.watched):
            if one.deadline_s <= now_s:
                one.deadline_passed()

    def _look(self) -> None:
        self.start()
        self.check()


class Member(HasDeadline, Protocol):
    """A connection that the registry counts."""

    def abort(self) -> None:
        """Close the connection at once."""


class CustomerMember(Member, Protocol):
    """A customer's connection, as the registry uses it."""

    def retire(self) -> None:
        """Close the connection if it is idle; a request in progress is still answered."""


class Connections:
    """The registry of customers' connections on all ports, including connections whose TLS
    handshakes are in progress.
    """

    def __init__(self, deadlines: Deadlines, *, most: int) -> None:
        """Create an empty registry, which cuts off each connection beyond `most`."""
        self.is_draining = False
        """Whether every connection closes after its next answer, because the gateway is draining.
        """
        self.customers: set[CustomerMember] = set()
        self.newcomers: set[Member] = set()
        """The connections whose TLS handshakes are still in progress."""
        self.turned_away = 0
        """The number of connections that were cut off because the limit was reached."""
        self._deadlines = deadlines
        self._most = most

    def opened(self, customer: CustomerMember) -> None:
        """Add a customer's connection; cut it off if the limit is reached."""
        self.customers.add(customer)
        self._added(customer, customer.retire)

    def closed(self, customer: CustomerMember) -> None:
        """Remove a customer's connection that has ended."""
        self.customers.discard(customer)
        self._deadlines.watched.discard(customer)

    def shaking_hands(self, newcomer: Member) -> None:
        """Add a connection whose TLS handshake begins; cut it off if the limit is reached."""
        self.newcomers.add(newcomer)
        self._added(newcomer, newcomer.abort)

    def handshake_over(self, newcomer: Member) -> None:
        """Remove a connection whose TLS handshake is over; if it succeeded, `opened` follows."""
        self.newcomers.discard(newcomer)
        self._deadlines.watched.discard(newcomer)

    def drain(self) -> None:
        """Close idle connections, and connections with a TLS handshake in progress, at once. Close
        every other connection after its next answer.
        """
        self.is_draining = True
        for newcomer in list(self.newcomers):
            newcomer.abort()
        for customer in list(self.customers):
            customer.retire()

    def _added(self, latest: Member, end: Callable[[], None]) -> None:
        self._deadlines.watched.add(latest)
        if self.is_draining:  # the port was closed just after this connection was accepted
            end()
        elif len(self.customers) + len(self.newcomers) > self._most:
            self.turned_away += 1
            latest.abort()
