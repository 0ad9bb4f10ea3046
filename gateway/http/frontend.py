"""The objects that all customers' connections share, such as the limits and the registry of
connections.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gateway.http.connections import Connections
from gateway.http.exchange import CustomerSide, Exchange
from gateway.http.hangups import Hangups
from gateway.http.limits import BodyLimits, CustomerLimits, HeadLimits
from gateway.http.request_reader import RequestHead
from gateway.http.response_context import ResponseContext


@dataclass(frozen=True, slots=True)
class Frontend:
    """The objects that all customers' connections share, with or without TLS."""

    loop: asyncio.AbstractEventLoop
    connections: Connections
    context: ResponseContext
    hangups: Hangups
    head_limits: HeadLimits
    body_limits: BodyLimits
    customer_limits: CustomerLimits
    exchange_of: Callable[[CustomerSide, RequestHead, bytes], Exchange]
    """A function that creates the exchange of a request; its last argument is the customer's
    address.
    """
