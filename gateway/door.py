"""What all customers' connections share: who is connected, where a request goes, ids, the date.

Owns: the set of open connections, choosing the lane of a request, request ids, refusal counts.
Must not know: how a connection is read, how a lane decides.
"""

import asyncio
import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from typing import TYPE_CHECKING, Protocol

from gateway.beside import Beside, lane_for
from gateway.deadlines import Deadlines, Watched
from gateway.exchange import Exchange, Lane
from gateway.hangups import Hangups
from gateway.limits import BodyLimits, CustomerLimits, HeadLimits
from gateway.pages import PageRules
from gateway.request_reader import RequestHead
from gateway.sessions import Sessions

if TYPE_CHECKING:
    from gateway.customer import Customer


class Newcomer(Watched, Protocol):
    """A connection that is not a customer's yet: its TLS handshake is under way."""

    def abort(self) -> None:
        """Closes at once."""


class Door:
    """Shared by every `Customer`, however it came in."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        deadlines: Deadlines,
        hangups: Hangups,
        head_limits: HeadLimits,
        body_limits: BodyLimits,
        customer_limits: CustomerLimits,
        max_connections: int,
        rules: PageRules,
        sessions: Sessions,
        own_hosts: Mapping[bytes, bytes],
        pages: Lane,
        beside: Sequence[Beside],
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """`own_hosts` says by which name customers get here: scheme → authority."""
        self.loop = loop
        self.hangups = hangups
        self.head_limits = head_limits
        self.body_limits = body_limits
        self.customer_limits = customer_limits
        self.own_hosts = own_hosts
        self.is_draining = False
        self.customers: set[Customer] = set()
        self.newcomers: set[Newcomer] = set()
        self.refusals: Counter[int] = Counter()
        self.sessions = sessions
        self.turned_away = 0
        self.left_in_service = 0
        self.wall_s = wall_s
        self._deadlines = deadlines
        self._max_connections = max_connections
        self._rules = rules
        self._pages = pages
        self._beside = beside
        self._ids = itertools.count(1)
        self._id_prefix = os.urandom(4).hex().encode()
        self._date_s = 0
        self._date = b""

    def opened(self, customer: "Customer") -> None:
        """A customer has connected; one too many is cut off before it costs anything."""
        self.customers.add(customer)
        self._deadlines.watched.add(customer)
        if self.is_draining:  # accepted just before the door was closed
            customer.retire()
        else:
            self._cut_off_beyond_limit(customer)

    def closed(self, customer: "Customer") -> None:
        self.customers.discard(customer)
        self._deadlines.watched.discard(customer)

    def knocked(self, newcomer: Newcomer) -> None:
        """Somebody has connected who must do a handshake first; counted from now on."""
        self.newcomers.add(newcomer)
        self._deadlines.watched.add(newcomer)
        if self.is_draining:  # accepted just before the door was closed
            newcomer.abort()
        else:
            self._cut_off_beyond_limit(newcomer)

    def went(self, newcomer: Newcomer) -> None:
        """They are gone, or will be `opened` as a customer now."""
        self.newcomers.discard(newcomer)
        self._deadlines.watched.discard(newcomer)

    def _cut_off_beyond_limit(self, latest: "Customer | Newcomer") -> None:
        if len(self.customers) + len(self.newcomers) > self._max_connections:
            self.turned_away += 1
            latest.abort()

    def exchange(self, customer: "Customer", head: RequestHead, peer: bytes) -> Exchange:
        """A new exchange for this request, in the lane of its kind."""
        page = self._rules.page(head.method, head.target)
        if page is None:
            lane = lane_for(head.target, self._beside)
            return Exchange(self, customer, head, peer=peer, lane=lane)
        exchange = Exchange(self, customer, head, peer=peer, lane=self._pages)
        exchange.page = page
        exchange.session = self.sessions.of(head)
        return exchange

    def new_request_id(self) -> bytes:
        return b"%b-%x" % (self._id_prefix, next(self._ids))

    def date(self) -> bytes:
        """Now, as RFC 9110, 5.6.7 wants it."""
        now_s = int(self.wall_s())
        if now_s != self._date_s:
            self._date_s = now_s
            self._date = formatdate(now_s, usegmt=True).encode()
        return self._date

    def count_refusal(self, status: int) -> None:
        """The gateway answered something by itself."""
        self.refusals[status] += 1

    def count_left_in_service(self) -> None:
        """A customer has left whose request is being served, or one is about to be."""
        self.left_in_service += 1

    def drain(self) -> None:
        """From now on every answer is the last on its connection."""
        self.is_draining = True
        for newcomer in list(self.newcomers):
            newcomer.abort()
        for customer in list(self.customers):
            customer.retire()
