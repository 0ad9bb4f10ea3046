"""An OpenTelemetry collector that keeps the spans it receives (OTLP by HTTP)."""

from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.fake_shop.server import FakeServer, Reply


@dataclass(frozen=True)
class Span:
    """A span as the collector received it; ids are in hexadecimal digits."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict
    has_failed: bool


class Collector(FakeServer):
    """A collector on this port or a free one; `spans` has all spans in the order of arrival."""

    def __init__(self, port=0):
        super().__init__(self._take, port)
        self.spans = []

    def _take(self, request):
        assert (request.method, request.path) == ("POST", "/v1/traces")
        self.spans += _spans(ExportTraceServiceRequest.FromString(request.body))
        answer = ExportTraceServiceResponse().SerializeToString()
        return Reply(answer, headers={"Content-Type": "application/x-protobuf"})

    def named(self, name):
        """Return the only span of this name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span


@contextmanager
def collector():
    """Yield a collector until the block ends."""
    with Collector().serving() as server:
        yield server


def _spans(message):
    for resource in message.resource_spans:
        service = _plain(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    service,
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.kind,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _plain(span.attributes),
                    span.status.code == span.status.STATUS_CODE_ERROR,
                )


def _plain(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
