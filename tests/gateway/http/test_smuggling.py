"""The shop's parser sees exactly the requests that the gateway dispatched.

The shop runs Gunicorn, whose parser reads the gateway's output. Additional requests would be
smuggled ones; another target or body would be a request that the policy never saw.
"""

from gunicorn.config import Config
from gunicorn.http.parser import RequestParser
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gateway.fake_world import World
from tests.gateway.http.test_customer import OK
from tests.gateway.http.test_request_reader import REFUSED

INNER = b"GET /checkout/confirm/?smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

FRAGMENTS = [
    b"GET / HTTP/1.1\r\n", b"POST /checkout/login/ HTTP/1.1\r\n", b"POST / HTTP/1.0\r\n",
    b"GET http://other/a HTTP/1.1\r\n", b"Host: x\r\n", b"Host: y\r\n", b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n", b"Content-Length: 54\r\n", b"content-length : 5\r\n",
    b"Content_Length: 54\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer_Encoding: chunked\r\n",
    b"Transfer-Encoding: CHUNKED\r\n", b"Transfer-Encoding: x, chunked\r\n", b"TE: trailers\r\n",
    b"Connection: close, content-length\r\n", b"Connection: transfer-encoding, host\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"Expect: 100-continue\r\n", b"X: y\r\n", b"\r\n",
    b"\n", b"\r", b" ", b"\t", b"\x00", b":", b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\n",
    b"5;x=y\r\n", b"00005\r\n", b"hello", INNER,
]  # fmt: skip


def seen_by_the_shop(data):
    """Return [(method, target, body)] as Gunicorn reads it."""
    seen = []
    if data:
        for request in RequestParser(Config(), iter([data]), ("127.0.0.1", 1)):
            seen.append((request.method, request.uri, request.body.read()))
    return seen


def check(data):
    world = World(answer=OK)
    world.connect(data)
    seen = [one for _, t in world.pool.connections for one in seen_by_the_shop(t.written)]
    assert [(method, target) for method, target, _ in seen] == world.pool.served
    assert [len(body) for _, _, body in seen] == world.pool.body_bytes
    return seen


@settings(max_examples=400)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14))
def test_fragments_in_any_order(fragments):
    check(b"".join(fragments))


@settings(max_examples=300)
@given(
    st.sampled_from([b"GET / HTTP/1.1\r\n", b"POST /checkout/login/ HTTP/1.1\r\n"]),
    st.lists(st.sampled_from(FRAGMENTS[6:22]), max_size=4),
    st.lists(st.sampled_from(FRAGMENTS[-8:]), max_size=5),
)
def test_well_begun_requests_with_any_framing(line, fields, body):
    check(line + b"Host: x\r\n" + b"".join(fields) + b"\r\n" + b"".join(body))


@given(st.sampled_from(REFUSED))
def test_nothing_of_what_is_refused_arrives(case):
    if case[0] not in (413, 414, 431):  # those need sizes beyond this gateway's limits
        assert check(case[1] + INNER) == []


def test_the_check_itself_sees_requests():
    assert check(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + INNER) == [
        ("POST", "/a", b"hello"),
        ("GET", "/checkout/confirm/?smuggled", b""),
    ]
    chunked = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    assert check(chunked + b"0\r\n\r\n") == [("POST", "/a", b"hello")]
