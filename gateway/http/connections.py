"""The registry of customers' connections, and their highest number."""

from typing import Protocol

from gateway.http.deadlines import Deadlines, Watched


class Member(Watched, Protocol):
    """A connection that counts, such as one whose TLS handshake is under way."""

    def abort(self) -> None:
        """Close at once."""


class CustomerMember(Member, Protocol):
    """A customer's connection."""

    def retire(self) -> None:
        """Close if idle; a request under way is still answered."""


class Connections:
    """The customers' connections of all ports, handshakes under way included."""

    def __init__(self, deadlines: Deadlines, *, most: int) -> None:
        """Begin without connections; `most` is the number above which a new one is cut off."""
        self.is_draining = False
        """Whether every answer is the last on its connection."""
        self.customers: set[CustomerMember] = set()
        self.newcomers: set[Member] = set()
        """Connections that are not a customer's yet: their handshakes are under way."""
        self.turned_away = 0
        """Connections that were cut off because there were too many."""
        self._deadlines = deadlines
        self._most = most

    def opened(self, customer: CustomerMember) -> None:
        """Add a customer's connection; it is cut off at once if there are too many."""
        self.customers.add(customer)
        self._deadlines.watched.add(customer)
        if self.is_draining:  # accepted just before the port was closed
            customer.retire()
        else:
            self._cut_off_beyond_limit(customer)

    def closed(self, customer: CustomerMember) -> None:
        """Remove a customer's connection, which no longer exists."""
        self.customers.discard(customer)
        self._deadlines.watched.discard(customer)

    def shaking_hands(self, newcomer: Member) -> None:
        """Add a connection whose handshake begins; it counts from now on."""
        self.newcomers.add(newcomer)
        self._deadlines.watched.add(newcomer)
        if self.is_draining:  # accepted just before the port was closed
            newcomer.abort()
        else:
            self._cut_off_beyond_limit(newcomer)

    def handshake_over(self, newcomer: Member) -> None:
        """Remove a connection whose handshake is over; a successful one is `opened` next."""
        self.newcomers.discard(newcomer)
        self._deadlines.watched.discard(newcomer)

    def drain(self) -> None:
        """Close idle connections; from now on every answer is the last on its connection."""
        self.is_draining = True
        for newcomer in list(self.newcomers):
            newcomer.abort()
        for customer in list(self.customers):
            customer.retire()

    def _cut_off_beyond_limit(self, latest: Member) -> None:
        if len(self.customers) + len(self.newcomers) > self._most:
            self.turned_away += 1
            latest.abort()
