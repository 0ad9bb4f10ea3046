"""Routing of requests: to the policy, past the policy to the shop, or to a separate server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.http.exchange import CustomerSide, Exchange, RequestQueue
from gateway.http.pages import PageRules
from gateway.http.request_reader import RequestHead
from gateway.http.response_context import ResponseContext
from gateway.http.upstream import Pool
from gateway.queues.request_queues import BypassQueue

OTHER: Final = "other"
"""The name of the bypass to the shop, for requests that no other bypass takes."""
ADS: Final = "ads"


@dataclass(frozen=True, slots=True)
class Bypass:
    """A separate short queue for requests whose path begins with `prefix`. `name` names it in
    counts. It has a pool for each process that serves these requests.
    """

    name: str
    prefix: bytes
    queue: BypassQueue
    pools: tuple[Pool, ...]


def queue_for(target: bytes, bypasses: Sequence[Bypass]) -> BypassQueue:
    """Return the queue of the first prefix that matches a target (origin form), or else the last
    queue.
    """
    for one in bypasses:
        if target.startswith(one.prefix):
            return one.queue
    return bypasses[-1].queue


class Router:
    """A router that creates the exchange of each request, in the queue of its kind."""

    def __init__(
        self,
        rules: PageRules,
        context: ResponseContext,
        pages: RequestQueue,
        bypasses: Sequence[Bypass],
    ) -> None:
        """Keep the queues; `pages` is the queue of the eight page types, under the policy."""
        self._rules = rules
        self._context = context
        self._pages = pages
        self._bypasses = bypasses

    def exchange_of(self, customer: CustomerSide, head: RequestHead, peer: bytes) -> Exchange:
        """Return a new exchange for this request of a customer at the address `peer`."""
        page = self._rules.page(head.method, head.target)
        if page is None:
            queue = queue_for(head.target, self._bypasses)
            return Exchange(self._context, customer, head, peer=peer, queue=queue)
        exchange = Exchange(self._context, customer, head, peer=peer, queue=self._pages)
        exchange.page = page
        exchange.session = self._context.sessions.of(head)
        return exchange
