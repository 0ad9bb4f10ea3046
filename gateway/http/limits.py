"""The limits on the resources that a customer or the shop may use in the gateway."""

from dataclasses import dataclass
from typing import Literal

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """The limits on the head of a request or a response."""

    start_line_bytes: int = 8190  # Gunicorn's maximum
    head_bytes: int = 32 * KIB
    header_fields: int = 100


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The limits on a message's body; `body_bytes` applies only to requests."""

    body_bytes: int = 8 * MIB
    chunk_extension_bytes: int = 1 * KIB
    trailer_bytes: int = 8 * KIB


HalfClose = Literal["probe", "wait", "leave"]
"""The values of the setting `half_close`, which docs/gateway.md explains."""


@dataclass(frozen=True, slots=True)
class CustomerLimits:
    """The limits on a customer's connection; times are in real seconds."""

    head_s: float = 10.0
    body_s: float = 30.0
    idle_s: float = 60.0
    write_s: float = 30.0
    linger_s: float = 2.0
    buffered_body_bytes: int = 64 * KIB
    pipeline_bytes: int = 64 * KIB
    response_buffer_bytes: int = 1 * MIB
    half_close: HalfClose = "probe"
