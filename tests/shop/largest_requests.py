"""The largest requests that the gateway accepts, sent to a server as the gateway forwards them."""

import socket

from gateway.http.forwarding import request_head
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.request_reader import RequestHead, RequestReader
from gateway.http.session_cookie import SessionCookie

LIMITS = HeadLimits()
HOST = b"Host: 127.0.0.1\r\n"


def _line():
    rest = len(b"GET /nowhere? HTTP/1.1")
    return b"GET /nowhere?%b HTTP/1.1\r\n%b\r\n" % (b"x" * (LIMITS.start_line_bytes - rest), HOST)


def _fields():
    fields = b"".join(b"X-%d: y\r\n" % number for number in range(LIMITS.header_fields - 1))
    return b"GET /nowhere HTTP/1.1\r\n%b%b\r\n" % (HOST, fields)


def _field():
    begun = b"GET /nowhere HTTP/1.1\r\n%bCookie: x=" % HOST
    return begun + b"y" * (LIMITS.head_bytes - len(begun) - 4) + b"\r\n\r\n"


LARGEST = {"line": _line(), "fields": _fields(), "field": _field()}


def status_of(request, port):
    """Return the server's status for a customer's request that the gateway forwards."""
    reader = RequestReader(LIMITS, BodyLimits())
    reader.receive(request)
    head = reader.pull()
    assert isinstance(head, RequestHead)
    passed_on = request_head(
        head,
        SessionCookie(b"k" * 32),
        peer=b"127.0.0.1",
        scheme=b"http",
        own_host=b"127.0.0.1",
        request_id=b"r" * 64,
        buffered_length_bytes=0,
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(passed_on)
        return int(connection.recv(65536).split()[1])
