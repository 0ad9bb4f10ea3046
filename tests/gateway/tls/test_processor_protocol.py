"""Messages between applications and the CPU manager: valid ones are read, errors name nonsense."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tls.processor_protocol import (
    Assigned,
    CpusAssigned,
    CpusRequest,
    ProtocolError,
    Refused,
    Register,
    Status,
    StatusWanted,
    from_application,
    from_manager,
    written,
)
from tests.hostile_json import BODIES, objects_with

names = st.text("azAZ09._-", max_size=63).map(lambda rest: f"s{rest}")
cpus = st.lists(st.integers(0, 8191), unique=True, max_size=8).map(tuple)
of_applications = st.one_of(
    st.builds(
        Register,
        names,
        st.floats(0, 1_000_000, exclude_min=True),
        st.integers(1, 2**31 - 1),
        st.none() | cpus,
    ),
    st.builds(CpusRequest, st.integers(0, 1_000_000)),
    st.just(CpusAssigned()),
    st.just(StatusWanted()),
)
of_the_manager = st.one_of(
    st.builds(Assigned, st.integers(0, 100).map(lambda halves: halves / 2), cpus),
    st.builds(Refused, st.text(), st.text(), st.text()),
    st.builds(Status, st.dictionaries(st.text(), st.integers() | st.text())),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    ("register", "request", "assigned", "status", "error", "processors", "application", "process")
)
objects = st.recursive(
    values, lambda inner: st.dictionaries(fields, inner, max_size=4), max_leaves=12
)


@given(of_applications)
def test_what_applications_write_is_read(message):
    line = written(message)
    assert line.count(b"\n") == 1
    assert from_application(line) == message


@given(of_the_manager)
def test_what_the_manager_writes_is_read(message):
    line = written(message)
    assert line.count(b"\n") == 1
    assert from_manager(line) == message


@pytest.mark.parametrize("read", [from_application, from_manager])
@given(st.binary(max_size=80) | objects.map(lambda value: json.dumps(value).encode()))
def test_anything_else_is_refused_and_the_refusal_can_be_sent(read, line):
    refusal = None
    try:
        message = read(line)
    except ProtocolError as error:
        refusal = Refused(error.error, error.field, error.allowed)
    if refusal is None:
        assert read(written(message)) == message
    else:
        assert from_manager(written(refusal)) == refusal


APPLICATION = {"application": "shop-1", "priority": 1, "process": 7}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"", "message"),
        (b"\xff", "message"),
        (b"[" * 50_000, "message"),
        (b"[1]", "message"),
        (b"{}", "message"),
        (b'{"request": 1, "assigned": null}', "message"),
        (b'{"reqest": 1}', '"reqest"'),
        (b'{"request": 1.0}', "request"),
        (b'{"request": true}', "request"),
        (b'{"request": -1}', "request"),
        (b'{"request": 1000001}', "request"),
        (b'{"request": 1' + b"0" * 9000 + b"}", "message"),
        (b'{"assigned": 1}', "assigned"),
        (b'{"status": 1}', "status"),
        (b'{"register": 1}', "register"),
        *(
            (json.dumps({"register": APPLICATION | changed}).encode(), field)
            for changed, field in (
                ({"application": ""}, "application"),
                ({"application": "a b"}, "application"),
                ({"application": "a" * 65}, "application"),
                ({"application": "a\n"}, "application"),
                ({"priority": 0}, "priority"),
                ({"priority": float("inf")}, "priority"),
                ({"priority": float("nan")}, "priority"),
                ({"priority": 10**400}, "priority"),
                ({"priority": True}, "priority"),
                ({"priority": "1"}, "priority"),
                ({"process": 0}, "process"),
                ({"process": 2**31}, "process"),
                ({"process": 7.5}, "process"),
                ({"processors": [0, 0]}, "processors"),
                ({"processors": [True]}, "processors"),
                ({"processors": [9000]}, "processors"),
                ({"processors": "0"}, "processors"),
                ({"uid": 0}, '"uid"'),
            )
        ),
    ],
)
def test_the_field_is_named(content, field):
    with pytest.raises(ProtocolError) as caught:
        from_application(content)
    assert caught.value.field == field
    assert caught.value.allowed
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "content",
    [
        b'{"assigned": 0.3, "processors": []}',
        b'{"assigned": -1, "processors": []}',
        b'{"assigned": null, "processors": []}',
        b'{"assigned": 1}',
        b'{"error": "x", "field": "y"}',
        b'{"status": []}',
        b"null",
    ],
)
def test_a_manager_that_talks_nonsense(content):
    with pytest.raises(ProtocolError):
        from_manager(content)


@pytest.mark.parametrize("read", [from_application, from_manager])
def test_a_line_that_is_made_to_hurt_is_refused_in_one_line(read):
    """Deep nesting, huge numbers and control characters are refused like other nonsense."""
    for what, line in {**BODIES, **objects_with("register", "processors", "other")}.items():
        with pytest.raises(ProtocolError) as refused:
            read(line)
        assert str(refused.value).isprintable(), what
        assert len(str(refused.value)) < 1_000, what
