"""The ids of traces, and the header field that carries them."""

import pytest

from common.telemetry.trace_context import TraceContext, is_sampled, trace_id_of

FIELD = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_span_survives_its_header_field():
    span = TraceContext.of_request(b"request-1")
    assert TraceContext.parse(span.traceparent()) == span
    assert TraceContext.parse(FIELD).traceparent() == FIELD


def test_a_child_is_another_span_of_the_same_trace():
    span = TraceContext.of_request(b"request-1")
    assert span.child().trace_id == span.trace_id == trace_id_of(b"request-1")
    assert span.child().span_id != span.span_id


@pytest.mark.parametrize(
    "field",
    [
        "",
        FIELD.upper(),
        FIELD[:-2] + "00",
        f"{FIELD}-more",
        "01" + FIELD[2:],
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
    ],
)
def test_an_invalid_field_or_a_trace_that_is_not_sampled_names_no_span(field):
    assert TraceContext.parse(field) is None


def test_the_share_of_sampled_traces_is_the_ratio():
    ids = [trace_id_of(b"r-%d" % number) for number in range(10_000)]
    assert not any(is_sampled(id, 0.0) for id in ids)
    assert all(is_sampled(id, 1.0) for id in ids)
    assert 2_300 < sum(is_sampled(id, 0.25) for id in ids) < 2_700
