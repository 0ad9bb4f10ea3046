"""The routing of each request to the policy's queue or to a bypass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.http import forwarding
from gateway.http.exchange import CustomerSide, Exchange, RequestQueue, ResponseContext
from gateway.http.pages import PageRules
from gateway.http.request_reader import RequestHead
from gateway.queues.request_queues import BypassQueue
from gateway.tracing import TracedExchange, Tracer

OTHER: Final = "other"
"""The name of the bypass to the shop for requests that have no page type and match no other
bypass.
"""
ADS: Final = "ads"
POLICY: Final = "policy"
"""The name of the policy's queue in traces."""


@dataclass(frozen=True, slots=True)
class Bypass:
    """A bypass: a separate short queue for requests whose path begins with `prefix`."""

    name: str
    prefix: bytes
    queue: BypassQueue


def bypass_for(target: bytes, bypasses: Sequence[Bypass]) -> Bypass:
    """Return the first bypass whose prefix matches the target (in origin form); the prefix of the
    last bypass is empty, and matches every target.
    """
    return next(one for one in bypasses if target.startswith(one.prefix))


class Router:
    """A router that creates an exchange for each request, and assigns the exchange to a queue."""

    def __init__(
        self,
        rules: PageRules,
        context: ResponseContext,
        pages: RequestQueue,
        bypasses: Sequence[Bypass],
        tracer: Tracer | None = None,
    ) -> None:
        """Create a router; `pages` is the policy's queue. Without a tracer, nothing is traced."""
        self._rules = rules
        self._context = context
        self._pages = pages
        self._bypasses = bypasses
        self._tracer = tracer

    def exchange_of(self, customer: CustomerSide, head: RequestHead, peer: bytes) -> Exchange:
        """Return a new exchange for this request from a customer at the address `peer`."""
        context, tracer = self._context, self._tracer
        page = self._rules.page(head.method, head.target)
        queue, name = self._pages, POLICY
        if page is None:
            bypass = bypass_for(head.target, self._bypasses)
            queue, name = bypass.queue, bypass.name
        own_id = context.new_request_id()
        id = forwarding.request_id_of(head) or own_id
        # `id` can come from the customer, who must not choose what is traced.
        if tracer is None or not tracer.samples(own_id):
            exchange = Exchange(context, customer, head, peer=peer, queue=queue, request_id=id)
        else:
            exchange = TracedExchange(
                tracer, name, context, customer, head, peer=peer, queue=queue, request_id=id
            )
        if page is not None:
            exchange.page = page
            exchange.session = context.sessions.of(head)
        return exchange
