"""The fields that stop at the gateway and those that it adds, in both directions."""

import pytest

from gateway.http import forwarding
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.request_reader import RequestReader
from gateway.http.response_reader import ResponseReader
from gateway.http.session_cookie import SessionCookie

COOKIE = SessionCookie(b"k" * 32)


def to_shop(fields, start=b"GET /a HTTP/1.1\r\nHost: shop.example\r\n", length=0, scheme=b"http"):
    reader = RequestReader(HeadLimits(), BodyLimits())
    reader.receive(start + fields + b"\r\n")
    head = reader.pull()
    text = forwarding.request_head(
        head,
        COOKIE,
        peer=b"192.0.2.7",
        scheme=scheme,
        own_host=b"own:1",
        request_id=b"id-1",
        buffered_length_bytes=length,
    )
    assert text.endswith(b"\r\n\r\n")
    return text[:-4].split(b"\r\n")


def to_customer(fields, start=b"HTTP/1.1 200 OK\r\n", method=b"GET", **how):
    reader = ResponseReader(HeadLimits(), BodyLimits())
    reader.expect(method)
    reader.receive(start + fields + b"\r\n")
    how = {"is_chunked": False, "keeps_alive": True, "to_http_1_0": False} | how
    how |= {"request_id": b"id-1", "date": lambda: b"NOW"}
    text = forwarding.response_head(reader.pull(), COOKIE, **how)
    assert text.endswith(b"\r\n\r\n")
    return text[:-4].split(b"\r\n")


def test_a_request_says_who_passed_it_on():
    assert to_shop(b"Accept: x\r\n") == [
        b"GET /a HTTP/1.1",
        b"Host: shop.example",
        b"Accept: x",
        b"Via: 1.1 doorbuster",
        b"X-Forwarded-For: 192.0.2.7",
        b"X-Forwarded-Proto: http",
        b"X-Forwarded-Host: shop.example",
        b"X-Request-Id: id-1",
    ]


@pytest.mark.parametrize(
    "field",
    [
        b"Keep-Alive: timeout=5",
        b"Proxy-Connection: keep-alive",
        b"Proxy-Authorization: Basic x",
        b"TE: trailers",
        b"Trailer: Expires",
        b"Upgrade: websocket",
        b"Connection: keep-alive",
        b"X-Forwarded-For: 203.0.113.1",
        b"x-forwarded-proto: https",
        b"X-Forwarded-Port: 443",
        b"Forwarded: for=203.0.113.1",
        b"X-Real-IP: 203.0.113.1",
        b"X_Forwarded_For: 203.0.113.1",
        b"Proxy: http://evil",
        b"X-Request-Id: theirs",
        b"Expect: 100-continue",
    ],
)
def test_what_stops_at_the_gateway(field):
    assert to_shop(field + b"\r\n") == to_shop(b"")


def test_fields_named_in_connection_stop_here():
    assert to_shop(b"Connection: close, X-Secret\r\nx-secret: 1\r\nOther: 2\r\n") == to_shop(
        b"Other: 2\r\n"
    )
    answer = to_customer(b"Connection: X-Secret\r\nX-Secret: 1\r\nContent-Length: 0\r\n")
    assert b"X-Secret: 1" not in answer


def test_framing_and_the_gateways_own_fields_cannot_be_named_away():
    lines = to_shop(
        b"Connection: host, content-length, x-forwarded-for, via\r\nContent-Length: 3\r\n", length=3
    )
    assert b"Host: shop.example" in lines
    assert b"Content-Length: 3" in lines
    assert b"X-Forwarded-For: 192.0.2.7" in lines


def test_via_is_appended_to():
    assert b"Via: 1.0 a, 1.1 b, 1.1 doorbuster" in to_shop(b"Via: 1.0 a\r\nVia: 1.1 b\r\n")


def test_an_old_customer_without_host_gets_the_gateways():
    lines = to_shop(b"", start=b"GET / HTTP/1.0\r\n")
    assert lines[:2] == [b"GET / HTTP/1.1", b"Host: own:1"]
    assert b"Via: 1.0 doorbuster" in lines


def test_a_buffered_chunked_body_gets_a_length():
    lines = to_shop(b"Transfer-Encoding: chunked\r\n", length=7)
    assert b"Content-Length: 7" in lines
    assert not any(line.startswith(b"Transfer-Encoding") for line in lines)


def test_a_streamed_body_keeps_its_framing():
    assert b"Transfer-Encoding: chunked" in to_shop(b"Transfer-Encoding: chunked\r\n", length=None)
    assert b"Content-Length: 9" in to_shop(b"Content-Length: 9\r\n", length=None)


def test_a_request_id_of_sound_form_is_kept():
    reader = RequestReader(HeadLimits(), BodyLimits())
    for value, kept in ((b"abc-1", b"abc-1"), (b"a b", None), (b"x" * 65, None), (b"", None)):
        reader.receive(b"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: %b\r\n\r\n" % value)
        assert forwarding.request_id_of(reader.pull()) == kept


def test_a_response():
    fields = (
        b"Server: shop\r\nDate: THEN\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n"
        b"X-Request-Id: theirs\r\nX-Doorbuster-Verdict: dropped\r\nUpgrade: h2c\r\n"
        b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n"
    )
    assert to_customer(fields) == [
        b"HTTP/1.1 200 OK",
        b"Server: shop",
        b"Date: THEN",
        b"Set-Cookie: a=1",
        b"Set-Cookie: b=2",
        b"Content-Length: 2",
        b"Via: 1.1 doorbuster",
        b"X-Request-Id: id-1",
    ]


def test_a_response_of_unknown_length():
    lines = to_customer(b"", is_chunked=True)
    assert b"Transfer-Encoding: chunked" in lines
    assert b"Date: NOW" in lines


def test_a_response_that_ends_the_connection():
    assert b"Connection: close" in to_customer(b"", keeps_alive=False, to_http_1_0=True)
    assert b"Connection: keep-alive" in to_customer(b"Content-Length: 0\r\n", to_http_1_0=True)
    assert to_customer(b"", start=b"HTTP/1.1 204\r\n")[0] == b"HTTP/1.1 204 "


def test_two_gateways_remove_their_own_cookies_from_the_same_head():
    """What is passed on of a remembered head depends on the name of the gateway's cookie."""
    reader = RequestReader(HeadLimits(), BodyLimits())
    reader.receive(b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: one=1; two=2\r\n\r\n")
    head = reader.pull()
    how = {"peer": b"p", "scheme": b"http", "own_host": b"o", "request_id": b"i"}
    for name, left in ((b"one", b"two=2"), (b"two", b"one=1"), (b"one", b"two=2")):
        text = forwarding.request_head(
            head, SessionCookie(b"k" * 32, name), buffered_length_bytes=0, **how
        )
        assert b"\r\nCookie: %b\r\n" % left in text
