"""The export of spans to an OpenTelemetry collector (OTLP over HTTP), in a background thread."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from common.telemetry.trace_context import TraceContext

log = logging.getLogger("telemetry")

_BATCH_S: Final = 3.0
"""The time limit for sending a batch, in real seconds. If the collector does not accept the batch
within this time, the batch is lost."""
_KINDS: Final = {
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "internal": SpanKind.INTERNAL,
}


class SpanExport:
    """The export of one service's spans to a collector.

    A span is lost if the background thread's queue is full, or if the collector does not accept it.
    """

    def __init__(self, endpoint: str, service: str) -> None:
        """Start the thread; `endpoint` is the collector's address without a path."""
        # The library logs several lines for every lost batch; _Batches logs only the first loss.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._batches = _Batches(endpoint)
        self._queue = BatchSpanProcessor(self._batches, schedule_delay_millis=1000)
        self._resource = Resource.create({"service.name": service})
        self._scope = InstrumentationScope("doorbuster")

    def add(
        self,
        name: str,
        context: TraceContext,
        parent: TraceContext | None,
        start_ns: int,
        end_ns: int,
        *,
        kind: Literal["server", "client", "internal"] = "internal",
        attributes: Mapping[str, str | int],
        has_failed: bool = False,
    ) -> None:
        """Send an ended span; its times are nanoseconds since 1970."""
        self._queue.on_end(
            ReadableSpan(
                name,
                context=_named(context),
                parent=None if parent is None else _named(parent),
                resource=self._resource,
                attributes=attributes,
                kind=_KINDS[kind],
                status=Status(StatusCode.ERROR if has_failed else StatusCode.UNSET),
                start_time=start_ns,
                end_time=end_ns,
                instrumentation_scope=self._scope,
            )
        )

    def close(self) -> None:
        """Send the queued spans, or stop after a few seconds."""
        self._batches.is_closing = True
        self._queue.shutdown()  # type: ignore[no-untyped-call]


class _Batches(SpanExporter):
    """A sender of batches, which logs when the collector begins and stops refusing batches."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._sender = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=_BATCH_S)
        self._loses = False
        self.is_closing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self._loses and self.is_closing:
            return SpanExportResult.FAILURE
        result = self._sender.export(spans)
        loses = result is not SpanExportResult.SUCCESS
        if loses and not self._loses:
            log.warning(
                "the collector at %s does not accept traces, which are lost", self._endpoint
            )
        elif self._loses and not loses:
            log.warning("the collector at %s accepts traces again", self._endpoint)
        self._loses = loses
        return result

    def shutdown(self) -> None:
        self._sender.shutdown()  # type: ignore[no-untyped-call]


def _named(context: TraceContext) -> SpanContext:
    return SpanContext(*context, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
