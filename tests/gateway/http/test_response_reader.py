"""Usable answers of a shop, and unusable ones."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.http.framing import END
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.response_reader import BadResponseError, ResponseHead, ResponseReader

LIMITS = HeadLimits(start_line_bytes=200, head_bytes=1000, header_fields=10)


def read(data, method=b"GET", cuts=(), eof=False):
    """Return (head, body, ended, reader); raises BadResponseError."""
    reader = ResponseReader(LIMITS, BodyLimits())
    reader.expect(method)
    head, body, ended = None, b"", False
    for start, end in pairwise([0, *sorted(cuts), len(data), len(data) + 1]):
        if data[start:end]:
            reader.receive(data[start:end])
        if start == len(data) and eof:
            reader.receive_eof()
        while not ended and (event := reader.pull()) is not None:
            if type(event) is ResponseHead:
                head = event
            elif event is END:
                ended = True
            else:
                body += event
    return head, body, ended, reader


def test_a_length():
    head, body, ended, reader = read(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\nhi")
    assert (head.status, head.reason, head.fields) == (200, b" OK", [(b"a", b"A", b"b")])
    assert (body, ended, reader.keeps_alive, reader.buffered_bytes) == (b"hi", True, True, 0)


def test_chunks():
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nT: x\r\n\r\n"
    head, body, ended, reader = read(data)
    assert (head.length_bytes, body, ended, reader.keeps_alive) == (None, b"hi", True, True)


def test_the_end_of_the_connection():
    head, body, ended, reader = read(b"HTTP/1.1 200 OK\r\n\r\nhi", eof=True)
    assert (head.has_body, body, ended, reader.keeps_alive) == (True, b"hi", True, False)


@pytest.mark.parametrize(
    ("method", "start", "length"),
    [
        (b"HEAD", b"200 OK\r\nContent-Length: 5\r\n", 5),
        (b"HEAD", b"200 OK\r\nTransfer-Encoding: chunked\r\n", None),
        (b"GET", b"304 Not Modified\r\nContent-Length: 5\r\n", 5),
        (b"GET", b"204 No Content\r\nContent-Length: 5\r\n", None),
        (b"GET", b"204 No Content\r\nTransfer-Encoding: chunked\r\n", None),
        (b"GET", b"200 OK\r\nContent-Length: 0\r\n", 0),
    ],
)
def test_without_a_body(method, start, length):
    head, body, ended, reader = read(b"HTTP/1.1 " + start + b"\r\n", method)
    assert (head.length_bytes, body, ended, reader.keeps_alive) == (length, b"", True, True)


def test_interim_responses_are_swallowed():
    data = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    )
    head, _, ended, _ = read(data)
    assert (head.status, ended) == (200, True)


def test_what_follows_belongs_to_nobody():
    _, body, ended, reader = read(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200")
    assert (body, ended, reader.buffered_bytes) == (b"hi", True, 12)


@pytest.mark.parametrize(
    ("start", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True),
        (b"HTTP/1.1 200\r\n", True),
    ],
)
def test_keep_alive(start, keeps):
    assert read(start + b"Content-Length: 0\r\n\r\n")[3].keeps_alive is keeps


BAD = [
    b"nonsense\r\n\r\n",
    b"HTTP/2.0 200 OK\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n",
    b"HTTP/1.1 2000 OK\r\n\r\n",
    b"HTTP/1.1 999 OK\r\n\r\n",
    b"HTTP/1.1  200 OK\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi2\r\n",
    b"HTTP/1.1 200 OK\r\nA: " + b"b" * 1000,
    b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 11 + b"\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 17,
]


@given(st.sampled_from(BAD), st.lists(st.integers(1, 400)))
def test_nonsense_is_refused_however_it_is_cut(data, cuts):
    with pytest.raises(BadResponseError):
        read(data, cuts=[cut for cut in cuts if cut < len(data)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
    ],
)
def test_cut_short(data):
    with pytest.raises(BadResponseError):
        read(data, eof=True)


@given(st.binary(max_size=200), st.booleans())
def test_garbage_raises_nothing_else(data, eof):
    assume(b"HTTP/1." not in data)  # chance does find sound ones
    try:
        head, *_ = read(data, eof=eof)
    except BadResponseError:
        return
    assert head is None


def test_a_repeated_head_has_a_body_unless_it_answers_head():
    """The same head is remembered separately for GET and for HEAD."""
    data = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nAgain: x\r\n\r\n"
    for _ in range(3):
        assert read(data + b"hi")[1:3] == (b"hi", True)
        assert read(data, method=b"HEAD")[1:3] == (b"", True)
