"""Well-formed requests, and a corpus of smuggling and injection attempts."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.http.framing import END
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.refusals import TITLES, RefusedError
from gateway.http.request_reader import RepeatedHeads, RequestHead, RequestReader

SMALL = HeadLimits(start_line_bytes=200, head_bytes=1000, header_fields=10)


def read(data, cuts=(), limits=SMALL):
    """Return the events, with a body's pieces joined; a refusal is the last event, as
    its status."""
    reader = RequestReader(limits, BodyLimits(body_bytes=1000))
    events = []
    edges = [0, *sorted(cuts), len(data)]
    try:
        for start, end in pairwise(edges):
            if start < end:
                reader.receive(data[start:end])
            while (event := reader.pull()) is not None:
                if type(event) is bytes and events and type(events[-1]) is bytes:
                    events[-1] += event
                else:
                    events.append(event)
    except RefusedError as refusal:
        if events and type(events[-1]) is bytes:
            events.pop()  # how much of a body came through before its fault is chance
        events.append(refusal.status)
    return events


def head(data):
    (event,) = read(data)
    assert type(event) is RequestHead, event
    return event


def test_a_plain_request():
    parsed = head(b"GET /a?b=c HTTP/1.1\r\nHost: shop\r\nAccept:  x \r\nX:\r\n\r\n")
    assert (parsed.method, parsed.target, parsed.host) == (b"GET", b"/a?b=c", b"shop")
    assert parsed.fields == [(b"accept", b"Accept", b"x"), (b"x", b"X", b"")]
    assert parsed.keeps_alive
    assert not parsed.has_body
    assert parsed.attempt == 1


def test_bodies_and_the_requests_behind_them():
    post = b"POST / HTTP/1.1\r\nHost: x\r\n"
    data = (
        post + b"Content-Length: 3\r\n\r\nabc"
        + post + b"Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n"
        + post + b"Content-Length: 0\r\n\r\n"
        + b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"
    )  # fmt: skip
    events = read(data)
    assert [type(event).__name__ for event in events] == [
        "RequestHead", "bytes", "End", "RequestHead", "bytes", "End", "RequestHead", "RequestHead",
    ]  # fmt: skip
    assert events[1] == b"abc"
    assert events[2] is END
    assert events[4] == b"de"


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: Close\r\n", False),
        (b"1.1", b"Connection: x, close\r\n", False),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: Keep-Alive\r\n", True),
        (b"1.0", b"Connection: keep-alive, close\r\n", False),
    ],
)
def test_keep_alive(version, connection, keeps):
    parsed = head(b"GET / HTTP/%b\r\nHost: x\r\n%b\r\n" % (version, connection))
    assert parsed.keeps_alive is keeps


@pytest.mark.parametrize(
    ("line", "host", "target"),
    [
        (b"GET http://Other:81/x?y", b"Other:81", b"/x?y"),
        (b"GET HTTP://other", b"other", b"/"),
        (b"GET http://other?q", b"other", b"/?q"),
        (b"OPTIONS http://other", b"other", b"*"),
        (b"OPTIONS *", b"real", b"*"),
    ],
)
def test_forms_of_the_target(line, host, target):
    parsed = head(line + b" HTTP/1.1\r\nHost: real\r\n\r\n")
    assert (parsed.host, parsed.target) == (host, target)


REFUSED = [
    # line ends and characters
    (400, b"GET / HTTP/1.1\nHost: x\n\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA: b\x0bc\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\n\tA: b\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost : x\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA\xff: b\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA(: b\r\n\r\n"),
    (400, b"\x16\x03\x01\x02\x00\x01\x00"),
    (400, b"\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"\r\n" * 33),
    (400, b"\r\n" * 33 + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"\r\n\rGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    # the request line
    (400, b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET / HTTP/1.1 \r\nHost: x\r\n\r\n"),
    (400, b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b" GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET /\r\nHost: x\r\n\r\n"),
    (400, b"GET / http/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET / HTTP/1.11\r\nHost: x\r\n\r\n"),
    (400, b"GET / HTTP/ 1.1\r\nHost: x\r\n\r\n"),
    (505, b"GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
    (505, b"GET / HTTP/1.2\r\nHost: x\r\n\r\n"),
    (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    (501, b"get / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (501, b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (405, b"CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n"),
    (405, b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n"),
    # targets and hosts
    (400, b"GET /#a HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET http://x/#a HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET * HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET x HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET http://user@x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"),
    (400, b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: u@b\r\n\r\n"),
    (400, b"GET http://x/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    # framing
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5 5\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n"),
    (501, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
          b"Transfer-Encoding: chunked\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
          b"Transfer-Encoding: identity\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n"),
    (400, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"),
    (400, b"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
    (413, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"),
    # what the gateway itself reads
    (417, b"POST / HTTP/1.1\r\nHost: x\r\nExpect: something\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nX-Doorbuster-Attempt: 0\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nX-Doorbuster-Attempt: two\r\n\r\n"),
    (400, b"OPTIONS / HTTP/1.1\r\nHost: x\r\nMax-Forwards: many\r\n\r\n"),
    (204, b"OPTIONS / HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n"),
    # sizes
    (414, b"GET /" + b"a" * 300 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
    (414, b"A" * 300),
    (431, b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 1000 + b"\r\n\r\n"),
    (431, b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 300),
    (431, b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 11 + b"\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 500 + b"\n" + b"b" * 1000),
]  # fmt: skip


@pytest.mark.parametrize(("status", "data"), REFUSED)
def test_refused(status, data):
    assert read(data) == [status]
    assert status in TITLES


@pytest.mark.parametrize(("status", "data"), REFUSED)
def test_refused_byte_by_byte(status, data):
    assert read(data, range(1, len(data))) == [status]


@given(st.sampled_from(REFUSED), st.lists(st.integers(1, 1200)))
def test_refused_however_it_is_cut(case, cuts):
    status, data = case
    assert read(data, [cut for cut in cuts if cut < len(data)]) == [status]


def test_a_chunked_body_is_bounded():
    request = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert read(request + b"3e9\r\n")[-1] == 413
    assert read(request + b"zz\r\n")[-1] == 400


@given(st.lists(st.integers(1, 40)))
def test_empty_lines_before_a_request_are_ignored(cuts):
    data = b"\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n"
    (event,) = read(data, [cut for cut in cuts if cut < len(data)])
    assert event.target == b"/"


def test_empty_lines_are_counted_anew_before_each_request():
    request = b"\r\n" * 32 + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    events = read(request * 3, limits=HeadLimits())
    assert [type(event) for event in events] == [RequestHead] * 3


def test_one_forward_less():
    parsed = head(b"OPTIONS / HTTP/1.1\r\nHost: x\r\nMax-Forwards: 7\r\n\r\n")
    assert parsed.values(b"max-forwards") == [b"6"]


def test_upgrade_and_a_body_behind_it_are_plain_http():
    data = (
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
        b"Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    assert [type(event).__name__ for event in read(data)] == [
        "RequestHead", "bytes", "End", "RequestHead",
    ]  # fmt: skip


_NAMES = st.sampled_from(["Accept", "Cookie", "X-Test", "Referer", "Connection", "User-Agent"])
_VALUES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=20)


@st.composite
def sound_requests(draw):
    data = b""
    for _ in range(draw(st.integers(1, 4))):
        fields = draw(st.lists(st.tuples(_NAMES, _VALUES), max_size=4))
        body = draw(st.binary(max_size=60))
        framing = draw(st.sampled_from(["none", "length", "chunked"]))
        data += b"POST /p HTTP/1.1\r\nHost: shop\r\n"
        data += b"".join(f"{name}: {value}\r\n".encode() for name, value in fields)
        if framing == "length":
            data += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        elif framing == "chunked":
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            data += b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n"
        else:
            data += b"\r\n"
    return data


@given(sound_requests(), st.lists(st.integers(1, 600)))
def test_however_it_is_cut_the_requests_are_the_same(data, cuts):
    whole = read(data, limits=HeadLimits())
    assert read(data, [cut for cut in cuts if cut < len(data)], HeadLimits()) == whole
    assert not any(type(event) is int for event in whole)


@given(st.binary(max_size=300))
def test_garbage_is_refused_or_waits(data):
    assume(b"HTTP/1." not in data)  # chance does find sound ones
    for event in read(data):
        assert type(event) is int


@given(sound_requests(), st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_a_request_with_a_wound_never_raises_anything_else(data, at, wound):
    for event in read(data[:at] + wound + data[at + len(wound) :], limits=HeadLimits()):
        assert event is END or type(event) in (int, bytes, RequestHead)


def test_a_repeated_head_is_read_as_before():
    """The first three times that a head comes, its events are the same; so is a refusal."""
    data = b"GET /again HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
    first = read(data)
    assert [read(data), read(data + data)] == [first, first + first]
    refused = b"GET /again HTTP/1.1\r\n\r\n"
    assert [read(refused) for _ in range(3)] == [[400]] * 3


def test_only_short_heads_that_come_again_are_remembered():
    """A head is read twice, and a long head each time; the memory is emptied when it is full."""
    read_so_far = []
    heads = RepeatedHeads(lambda data: read_so_far.append(data) or data)

    def readings(data, times):
        before = len(read_so_far)
        assert [heads.read(data) for _ in range(times)] == [data] * times
        return len(read_so_far) - before

    assert readings(b"a", 5) == 2
    assert readings(b"a" * (heads.LONGEST_BYTES + 1), 5) == 5
    assert readings(b"a", 1) == 0
    for number in range(heads.MOST):
        readings(b"%d" % number, 2)
    assert readings(b"a", 2) > 0
