"""The choice of traced requests, and the export of their spans."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.telemetry.trace_context import is_sampled, trace_id_of

if TYPE_CHECKING:  # a gateway without traces does not need OpenTelemetry's libraries
    from common.telemetry.export import SpanExport


@dataclass(frozen=True, slots=True)
class Tracer:
    """A tracer, which chooses requests by their ids and exports their spans."""

    export: "SpanExport"
    sampled_ratio: float
    policy: Callable[[], str]
    """A function that returns the name of the policy in force."""

    def samples(self, request_id: bytes) -> bool:
        return is_sampled(trace_id_of(request_id), self.sampled_ratio)
