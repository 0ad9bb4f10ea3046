"""The limits on the resources that a customer or the shop may use in the gateway."""

from dataclasses import dataclass
from typing import Literal

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """Limits on the head of one message, request or response."""

    start_line_bytes: int = 8190  # the most that Gunicorn takes
    head_bytes: int = 32 * KIB
    header_fields: int = 100


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits on a request's body; the shop's bodies may be of any size."""

    body_bytes: int = 8 * MIB
    chunk_extension_bytes: int = 1 * KIB
    trailer_bytes: int = 8 * KIB


HalfClose = Literal["probe", "wait", "leave"]
"""The gateway's interpretation when a customer ends its stream after a request
(docs/gateway.md).
"""


@dataclass(frozen=True, slots=True)
class CustomerLimits:
    """Limits on a customer's connection; times in real seconds."""

    head_s: float = 10.0
    body_s: float = 30.0
    idle_s: float = 60.0
    write_s: float = 30.0
    linger_s: float = 2.0
    buffered_body_bytes: int = 64 * KIB
    pipeline_bytes: int = 64 * KIB
    response_buffer_bytes: int = 1 * MIB
    half_close: HalfClose = "probe"
