"""The ids of a trace and its spans, and the header `traceparent` that carries them (W3C Trace
Context, 3.2).

Every program can calculate a trace's id from the request's id. If the gateway chose this id, a
program can also calculate whether the trace is exported.
"""

import hashlib
import random
import re
from typing import Final, NamedTuple, Self

_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED: Final = 0x01


class TraceContext(NamedTuple):
    """A reference to a span of a trace."""

    trace_id: int
    span_id: int

    @classmethod
    def of_request(cls, request_id: bytes) -> Self:
        """Return the first span of a request's trace."""
        return cls(trace_id_of(request_id), _new_span_id())

    @classmethod
    def parse(cls, traceparent: str) -> Self | None:
        """Return the span in the header; None if it is invalid or its trace is not sampled."""
        found = _TRACEPARENT.fullmatch(traceparent)
        if found is None or not int(found[3], 16) & _SAMPLED:
            return None
        context = cls(int(found[1], 16), int(found[2], 16))
        return context if all(context) else None

    def child(self) -> Self:
        return self._replace(span_id=_new_span_id())

    def traceparent(self) -> str:
        """Return the header value that names this span as part of a sampled trace."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{_SAMPLED:02x}"


def trace_id_of(request_id: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(request_id, digest_size=16).digest()) or 1


def is_sampled(trace_id: int, ratio: float) -> bool:
    """Return whether this trace is exported, given the share of exported traces."""
    return trace_id & (2**64 - 1) < ratio * 2**64


def _new_span_id() -> int:
    return random.getrandbits(64) or 1
