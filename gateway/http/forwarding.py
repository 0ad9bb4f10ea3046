"""The changes that a proxy must make to the head of a message before it passes the message on (RFC
9110, 7.6).

The gateway removes hop-by-hop fields, fields that a customer could forge, and its own fields and
cookie. It adds Via, X-Forwarded-* and X-Request-Id.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from gateway.http.request_reader import PassedOn, RequestHead
from gateway.http.response_reader import ResponseHead
from gateway.http.session_cookie import SessionCookie

PSEUDONYM: Final = b"doorbuster"
"""The name of the gateway in the field Via."""

_HOP_BY_HOP: Final = frozenset(
    (
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-authentication-info",
        b"te",
        b"trailer",
        b"upgrade",
    )
)
# Only the gateway may set the customer's address, the target and the trace. In a CGI-like
# environment, `Proxy` would become HTTP_PROXY.
_FORGEABLE: Final = _HOP_BY_HOP | {
    b"forwarded",
    b"x-real-ip",
    b"x-request-id",
    b"proxy",
    b"traceparent",
    b"tracestate",
}
_REWRITTEN: Final = frozenset((b"via", b"cookie"))
_OURS: Final = _HOP_BY_HOP | {b"x-request-id", b"x-doorbuster-verdict"}
_NOT_PLAIN: Final = _OURS | {b"via", b"date", b"set-cookie"}
_OWN_VIA: Final = tuple(b"1.%d %b" % (minor_version, PSEUDONYM) for minor_version in (0, 1))
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._\-]{1,64}")


def request_id_of(head: RequestHead) -> bytes | None:
    """Return the request id that the customer sent; None if it is missing or invalid."""
    for name, _, value in head.fields:
        if name == b"x-request-id":
            return value if _REQUEST_ID.fullmatch(value) else None
    return None


def request_head(
    head: RequestHead,
    own_cookie: SessionCookie,
    *,
    peer: bytes,
    scheme: bytes,
    own_host: bytes,
    request_id: bytes,
    buffered_length_bytes: int | None,
    traceparent: bytes | None = None,
) -> bytes:
    """Return the request's head for the shop: always HTTP/1.1, without `own_cookie`.

    `peer` is the customer's address, and `scheme` is http or https. `own_host` replaces a missing
    Host (HTTP/1.0). `buffered_length_bytes` is the length of a completely received body, or None
    while the body is arriving. `traceparent` names the gateway's span of a traced request.
    """
    passed_on = head.passed_on
    if passed_on is None or passed_on[0] != own_cookie.name:
        passed_on = head.passed_on = _passed_on_to_shop(head, own_cookie)
    _, lines, via, _ = passed_on
    host = head.host if head.host is not None else own_host
    added = b""
    if buffered_length_bytes is None:
        if head.is_chunked:
            added = b"Transfer-Encoding: chunked\r\n"
        else:
            added = b"Content-Length: %d\r\n" % (head.length_bytes or 0)
    elif buffered_length_bytes or head.is_chunked or head.length_bytes is not None:
        added = b"Content-Length: %d\r\n" % buffered_length_bytes
    if traceparent is not None:
        added += b"traceparent: %b\r\n" % traceparent
    return (
        b"%b %b HTTP/1.1\r\nHost: %b\r\n%b%bVia: %b\r\nX-Forwarded-For: %b\r\n"
        b"X-Forwarded-Proto: %b\r\nX-Forwarded-Host: %b\r\nX-Request-Id: %b\r\n\r\n"
        % (
            head.method, head.target, host, lines, added,
            via, peer, scheme, host, request_id,
        )
    )  # fmt: skip


@lru_cache(maxsize=512)
def _stops_here(low: bytes) -> bool:
    """Return whether the gateway removes a customer's field with this name."""
    return low in _FORGEABLE or low.startswith(b"x-forwarded-") or b"_" in low


def _passed_on_to_shop(head: RequestHead, own_cookie: SessionCookie) -> PassedOn:
    lines: list[bytes] = []
    vias: list[bytes] = []
    named = head.connection
    for low, name, value in head.fields:
        if _stops_here(low) or low in named:
            continue
        if low in _REWRITTEN:
            if low == b"via":
                vias.append(value)
                continue
            value = own_cookie.without(value)
            if not value:
                continue
        lines.append(b"%b: %b\r\n" % (name, value))
    return own_cookie.name, b"".join(lines), _via(vias, head.minor_version), False


def response_head(
    head: ResponseHead,
    own_cookie: SessionCookie,
    *,
    request_id: bytes,
    date: Callable[[], bytes],
    is_chunked: bool,
    keeps_alive: bool,
    to_http_1_0: bool,
    set_cookie: bytes | None = None,
) -> bytes:
    """Return the response's head for the customer.

    `date` gives the Date if the shop sent none (RFC 9110, 6.6.1). `set_cookie` is the gateway's
    Set-Cookie; it is added to the shop's Set-Cookie fields, which may set every cookie except
    `own_cookie`.
    """
    passed_on = head.passed_on
    if passed_on is None or passed_on[0] != own_cookie.name:
        passed_on = head.passed_on = _passed_on_to_customer(head, own_cookie)
    _, lines, via, has_date = passed_on
    added = b"" if set_cookie is None else b"Set-Cookie: %b\r\n" % set_cookie
    if not has_date:
        added += b"Date: %b\r\n" % date()
    if is_chunked:
        added += b"Transfer-Encoding: chunked\r\n"
    elif head.length_bytes is not None:
        added += b"Content-Length: %d\r\n" % head.length_bytes
    if not keeps_alive:
        added += b"Connection: close\r\n"
    elif to_http_1_0:
        added += b"Connection: keep-alive\r\n"
    return b"HTTP/1.1 %d%b\r\n%b%bVia: %b\r\nX-Request-Id: %b\r\n\r\n" % (
        head.status, head.reason or b" ", lines, added, via, request_id,
    )  # fmt: skip


def _passed_on_to_customer(head: ResponseHead, own_cookie: SessionCookie) -> PassedOn:
    lines: list[bytes] = []
    vias: list[bytes] = []
    named = head.connection
    has_date = False
    for low, name, value in head.fields:
        if low in _NOT_PLAIN or low in named:
            if low in _OURS or low in named:
                continue
            if low == b"via":
                vias.append(value)
                continue
            if low == b"date":
                has_date = True
            elif own_cookie.is_set_by(value):  # a Set-Cookie field
                continue
        lines.append(b"%b: %b\r\n" % (name, value))
    return own_cookie.name, b"".join(lines), _via(vias, head.minor_version), has_date


def _via(values: list[bytes], minor_version: int) -> bytes:
    own = _OWN_VIA[minor_version]
    return b", ".join((*values, own)) if values else own
