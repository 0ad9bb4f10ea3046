"""Where bodies end: strict lengths and chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.framing import (
    ChunkedBody,
    FramingError,
    LengthBody,
    TooLongError,
    content_length,
    is_chunked,
)
from gateway.http.limits import BodyLimits

LIMITS = BodyLimits(body_bytes=1000, chunk_extension_bytes=64, trailer_bytes=64)


def decode(data, cuts=(), bounded=True):
    """Return (body, rest) of a chunked body that arrives cut at `cuts`; no body if unfinished."""
    body = ChunkedBody(LIMITS, bounded=bounded)
    decoded = b""
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        if start == end:
            continue
        piece, rest, done = body.read(data[start:end])
        decoded += piece
        if done:
            return decoded, rest + data[end:]
    return None, b""


@pytest.mark.parametrize(
    "value", ["+5", "-5", "5 ", "0x5", "5,5", "5, 5", "", "1" * 19, "\u0665", "5_0", "5.0"]
)
def test_a_length_is_plain_digits(value):
    with pytest.raises(FramingError):
        content_length([value.encode()])


def test_a_length_is_given_once():
    assert content_length([]) is None
    assert content_length([b"0042"]) == 42
    with pytest.raises(FramingError):
        content_length([b"5", b"5"])


@pytest.mark.parametrize(
    "values",
    [[b"gzip"], [b"chunked, chunked"], [b"gzip, chunked"], [b"chunked", b"chunked"], [b"xchunked"],
     [b"chunked;q=1"], [b""], [b"identity"], [b"\x0bchunked"]],
)  # fmt: skip
def test_the_only_coding_is_chunked(values):
    with pytest.raises(FramingError):
        is_chunked(values)


def test_chunked_in_any_case_is_chunked():
    assert is_chunked([b"Chunked"])
    assert not is_chunked([])


def test_a_length_body_leaves_the_next_request_alone():
    assert LengthBody(3).read(b"abcGET") == (b"abc", b"GET", True)


@pytest.mark.parametrize(
    "data",
    [
        b"5\r\nhello\r\n0\r\n\r\n",
        b"0005\r\nhello\r\n000\r\n\r\n",
        b"5;a=b\r\nhello\r\n0;last\r\n\r\n",
        b'2;q="x y"\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: yes\r\n\r\n',
    ],
)
def test_sound_chunks(data):
    assert decode(data + b"NEXT") == (b"hello", b"NEXT")


BROKEN = [
    b"5\nhello\r\n0\r\n\r\n",
    b"5\r\nhello\n0\r\n\r\n",
    b"5\r\nhello0\r\n\r\n",
    b"5\r\nhelloX\r\n0\r\n\r\n",
    b"+5\r\nhello\r\n0\r\n\r\n",
    b"-5\r\nhello\r\n0\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n",
    b" 5\r\nhello\r\n0\r\n\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n",
    b"5 ;a\r\nhello\r\n0\r\n\r\n",
    b"5_0\r\nhello\r\n0\r\n\r\n",
    b"\r\nhello\r\n0\r\n\r\n",
    b"g\r\nhello\r\n0\r\n\r\n",
    b"5\rhello\r\n0\r\n\r\n",
    b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    b"5;a\x00\r\nhello\r\n0\r\n\r\n",
    b"FFFFFFFFFFFFFFFF5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhello\r\n0\r\nno colon\r\n\r\n",
    b"5\r\nhello\r\n0\r\nA : b\r\n\r\n",
    b"5\r\nhello\r\n0\r\nA: b\n\r\n",
    b"5\r\nhello\r\n0\r\n\n",
    b"5\r\nhello\r\n0\r\n\rX",
]


@pytest.mark.parametrize("data", BROKEN)
def test_broken_chunks(data):
    with pytest.raises(FramingError):
        decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b"3E9\r\n",
        b"1f4\r\n" + b"x" * 500 + b"\r\n1f5\r\n",
        b"5;" + b"a" * 100,
        b"1;aaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n" * 3,
        b"0\r\nA: " + b"b" * 100,
        b"0\r\n" + b"A: bbbbbbbbbbbbbbbbbbbb\r\n" * 4,
    ],
)
def test_too_long(data):
    with pytest.raises(TooLongError):
        decode(data)


def test_a_shop_may_send_as_much_as_it_likes():
    assert decode(b"3E9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n", bounded=False)[0] == b"x" * 1001


@st.composite
def chunked(draw):
    pieces = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=5))
    data = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    return b"".join(pieces), data


@given(chunked(), st.lists(st.integers(0, 250)))
def test_however_it_is_cut_the_body_is_the_same(body, cuts):
    whole, data = body
    assert decode(data + b"NEXT", [cut for cut in cuts if cut < len(data)]) == (whole, b"NEXT")


@given(st.sampled_from(BROKEN), st.lists(st.integers(1, 40)))
def test_however_it_is_cut_a_broken_body_is_refused(data, cuts):
    with pytest.raises(FramingError):
        decode(data, [cut for cut in cuts if cut < len(data)])


@given(st.binary(max_size=200))
def test_garbage_raises_nothing_else(data):
    try:
        body, _ = decode(data)
    except FramingError:
        return
    assert body is None or len(body) < len(data)
