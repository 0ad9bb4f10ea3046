"""How much of anything a customer or the shop may cost the gateway.

Owns: the limits and their defaults. Must not know: who keeps them.
"""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """Limits on the head of one message, request or response."""

    start_line_bytes: int = 8 * KIB
    head_bytes: int = 32 * KIB
    header_fields: int = 100


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits on a request's body; the shop's own bodies may be of any size."""

    body_bytes: int = 8 * MIB
    chunk_extension_bytes: int = 1 * KIB
    trailer_bytes: int = 8 * KIB
