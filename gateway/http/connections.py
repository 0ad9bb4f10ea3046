"""The registry of customers' connections, and the limit on their number."""

from typing import Protocol

from gateway.http.deadlines import Deadlines, HasDeadline


class Member(HasDeadline, Protocol):
    """A connection that the registry counts."""

    def abort(self) -> None:
        """Close the connection at once."""


class CustomerMember(Member, Protocol):
    """A customer's connection, as the registry uses it."""

    def retire(self) -> None:
        """Close the connection if it is idle; a request in progress is still answered."""


class Connections:
    """The registry of customers' connections on all ports, including connections with a TLS
    handshake in progress.
    """

    def __init__(self, deadlines: Deadlines, *, most: int) -> None:
        """Create an empty registry. Once there are `most` connections, the registry cuts off each
        new connection.
        """
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
        self._deadlines.watched.add(customer)
        if self.is_draining:  # the port was closed just after this connection was accepted
            customer.retire()
        else:
            self._cut_off_beyond_limit(customer)

    def closed(self, customer: CustomerMember) -> None:
        """Remove a customer's connection that has ended."""
        self.customers.discard(customer)
        self._deadlines.watched.discard(customer)

    def shaking_hands(self, newcomer: Member) -> None:
        """Add a connection whose TLS handshake begins; cut it off if the limit is reached."""
        self.newcomers.add(newcomer)
        self._deadlines.watched.add(newcomer)
        if self.is_draining:  # the port was closed just after this connection was accepted
            newcomer.abort()
        else:
            self._cut_off_beyond_limit(newcomer)

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

    def _cut_off_beyond_limit(self, latest: Member) -> None:
        if len(self.customers) + len(self.newcomers) > self._most:
            self.turned_away += 1
            latest.abort()
