"""The reader of a customer's connection.

The reader turns bytes into request heads and body pieces, without I/O (RFC 9112). It accepts a head
only if this module's strict grammar and llhttp (httptools) both accept it and agree on its target.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final, Generic, TypeVar

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from gateway.http.framing import (
    END,
    Body,
    ChunkedBody,
    End,
    FramingError,
    LengthBody,
    TooLongError,
    content_length,
    is_chunked,
)
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.refusals import RefusedError

METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS")
"""The methods that are passed on. CONNECT and TRACE get status 405. Every other method gets status
501.
"""
IDEMPOTENT = frozenset((b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS"))

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
FIELD = rb"(?:" + _TOKEN + rb"++:[\t\x20-\x7e\x80-\xff]*+\r\n)"
_HEAD = re.compile(
    rb"(" + _TOKEN + rb"++) ([\x21-\x7e]++) HTTP/([0-9])\.([0-9])\r\n(?:" + FIELD + rb")*+\r\n"
)
# Forbidden characters, and line ends other than CRLF; an LF may still follow a CR at the end.
FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?=[^\n])")
_AUTHORITY = rb"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9\-._~%!$&'()*+,;=]{1,255})(?::[0-9]{0,5})?"
_HOST = re.compile(_AUTHORITY)
_ABSOLUTE = re.compile(rb"[hH][tT][tT][pP][sS]?://(" + _AUTHORITY + rb")([/?].*)?")
_READ_HERE = frozenset(
    (
        b"host",
        b"content-length",
        b"transfer-encoding",
        b"connection",
        b"expect",
        b"x-doorbuster-attempt",
        b"max-forwards",
    )
)
_FORWARDS = re.compile(rb"[0-9]{1,4}")
_ATTEMPT = re.compile(rb"[1-9][0-9]{0,2}")
_MOST_EMPTY_LINES: Final = 32

H = TypeVar("H")

Field = tuple[bytes, bytes, bytes]
"""A header field: (name in lower case, name as sent, value without surrounding whitespace)."""


PassedOn = tuple[bytes, bytes, bytes, bool]
"""The passed-on part of a head: (name of the gateway's cookie that was removed, lines of the fields
except Via, value of Via, whether the lines include Date).
"""


@dataclass(slots=True)
class RequestHead:
    """The head of a well-formed request. Several equal requests may share it.

    `target` is in origin form, or `*`. `host` is the authority; only an HTTP/1.0 request may lack
    it. `connection` contains the names in the field Connection, in lower case. `fields` omits Host,
    Content-Length, Transfer-Encoding, Connection and Expect, which the reader has already
    evaluated.
    """

    method: bytes
    target: bytes
    minor_version: int
    host: bytes | None
    fields: Sequence[Field]
    connection: frozenset[bytes]
    length_bytes: int | None
    is_chunked: bool
    expects_continue: bool
    attempt: int
    has_body: bool = field(init=False)
    keeps_alive: bool = field(init=False)
    """Whether the customer wants the connection to stay open after the answer."""
    passed_on: PassedOn | None = field(init=False, default=None, compare=False)
    """The result of `gateway.http.forwarding` for this head, kept for the next equal request."""

    def __post_init__(self) -> None:
        self.has_body = self.is_chunked or bool(self.length_bytes)
        self.keeps_alive = b"close" not in self.connection and (
            self.minor_version == 1 or b"keep-alive" in self.connection
        )

    def values(self, name: bytes) -> list[bytes]:
        """Return all values of the fields called `name` (lower case)."""
        return [value for known, _, value in self.fields if known == name]


NO_OPTIONS: frozenset[bytes] = frozenset()


class RepeatedHeads(Generic[H]):
    """A cache of repeated heads for a function that reads a whole head. The function must return
    the same head for the same bytes.

    Many customers send the same few heads, and the shop sends the same heads until the Date
    changes. A head is cached only when it comes for the second time. Most heads never come again,
    and objects that outlive their request slow the gateway down.
    """

    __slots__ = ("_heads", "_last_seen", "_read")

    MOST: Final = 1024
    LONGEST_BYTES: Final = 2048

    def __init__(self, read: Callable[[bytes], H]) -> None:
        self._read = read
        self._heads: dict[bytes, H] = {}
        self._last_seen = [0] * self.MOST
        """The hashes of the latest heads, each at an index that depends on the hash."""

    def read(self, data: bytes) -> H:
        """Return the head in `data`, which contains nothing else."""
        head = self._heads.get(data)
        if head is not None:
            return head
        head = self._read(data)
        if len(data) <= self.LONGEST_BYTES:
            mark = hash(data)
            if self._last_seen[mark % self.MOST] != mark:
                self._last_seen[mark % self.MOST] = mark
            else:
                if len(self._heads) >= self.MOST:
                    self._heads.clear()
                self._heads[data] = head
        return head


class Collector:
    """The target and the fields that llhttp reads in a head."""

    __slots__ = ("fields", "url")

    def __init__(self) -> None:
        self.url = b""
        self.fields: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name, value))


class RequestReader:
    """A reader of the requests of one connection. Call `receive` with bytes, then `pull` until it
    returns None. For each request, `pull` returns a RequestHead; if the request has a body, the
    pieces of the body and END follow.
    """

    __slots__ = (
        "_body",
        "_body_limits",
        "_buffer",
        "_empty_lines",
        "_head_limits",
        "_read_head",
        "_scanned",
    )

    def __init__(self, head_limits: HeadLimits, body_limits: BodyLimits) -> None:
        self._head_limits = head_limits
        self._body_limits = body_limits
        self._read_head = _head_reader(head_limits, body_limits)
        self._buffer = b""
        self._empty_lines = 0
        self._scanned = 0
        self._body: Body | End | None = None

    @property
    def buffered_bytes(self) -> int:
        """The number of bytes that have been received but not yet pulled."""
        return len(self._buffer)

    def receive(self, data: bytes) -> None:
        """Receive bytes from the connection."""
        self._buffer = self._buffer + data if self._buffer else data

    def pull(self) -> RequestHead | bytes | End | None:
        """Return the next event, or None if more bytes are needed. Raises RefusedError if the
        request is malformed, too large or unsupported.
        """
        if self._body is not None:
            return self._pull_body(self._body)
        buffer = self._buffer
        if not buffer:
            return None
        if buffer[0] == 0x0D:
            buffer = self._without_empty_lines(buffer)
            if buffer in (b"", b"\r"):
                return None
        end = buffer.find(b"\r\n\r\n", self._scanned) + 4
        if end < 4 or end > self._head_limits.head_bytes:
            _refuse_hopeless(buffer, self._scanned, self._head_limits)
            self._scanned = max(0, len(buffer) - 3)
            return None
        self._empty_lines = self._scanned = 0
        if end == len(buffer):
            head = self._read_head(buffer)
            self._buffer = b""
        else:
            head = self._read_head(buffer[:end])
            self._buffer = buffer[end:]
        if head.is_chunked:
            self._body = ChunkedBody(self._body_limits, bounded=True)
        elif head.length_bytes:
            self._body = LengthBody(head.length_bytes)
        return head

    def _pull_body(self, body: Body | End) -> bytes | End | None:
        if isinstance(body, End):
            self._body = None
            return END
        if not self._buffer:
            return None
        try:
            piece, self._buffer, complete = body.read(self._buffer)
        except TooLongError as error:
            raise RefusedError(413, str(error)) from None
        except FramingError as error:
            raise RefusedError(400, str(error)) from None
        if complete:
            if not piece:
                self._body = None
                return END
            self._body = END
        return piece or None

    def _without_empty_lines(self, buffer: bytes) -> bytes:
        """Remove the empty lines before the request line from the buffer and return the rest (RFC
        9112, 2.2); raise RefusedError if there are more than `_MOST_EMPTY_LINES`.
        """
        start = 0
        while buffer.startswith(b"\r\n", start):
            start += 2
            self._empty_lines += 1
            if self._empty_lines > _MOST_EMPTY_LINES:
                reason = f"the request begins with more than {_MOST_EMPTY_LINES} empty lines"
                raise RefusedError(400, reason)
        self._buffer = buffer[start:]
        self._scanned = 0
        return self._buffer


def _refuse_hopeless(buffer: bytes, scanned: int, limits: HeadLimits) -> None:
    """Refuse the head in `buffer` if it has a forbidden character or exceeds a limit, so that more
    bytes cannot make it valid.

    The search runs from front to back, so that the result does not depend on how the bytes were
    divided into pieces. The search skips the first `scanned` bytes, because an earlier call has
    searched them.
    """
    window_bytes = min(len(buffer), limits.head_bytes)
    forbidden = FORBIDDEN.search(buffer, scanned, window_bytes)
    line_bytes = limits.start_line_bytes + 2
    is_long = window_bytes >= line_bytes and buffer.find(b"\r\n", 0, line_bytes) < 0
    if is_long and (forbidden is None or forbidden.start() > limits.start_line_bytes):
        raise RefusedError(414, f"the request line exceeds {limits.start_line_bytes} bytes")
    if forbidden is not None:
        raise RefusedError(
            400, "the head contains a control character or a line end other than CRLF"
        )
    if len(buffer) >= limits.head_bytes:
        raise RefusedError(431, f"the head exceeds {limits.head_bytes} bytes")


@lru_cache
def _head_reader(
    head_limits: HeadLimits, body_limits: BodyLimits
) -> Callable[[bytes], RequestHead]:
    """Return the function that reads heads within these limits; all connections share it."""
    read = partial(_read_head, head_limits, body_limits.body_bytes)
    return RepeatedHeads(read).read


def _read_head(limits: HeadLimits, body_bytes: int, data: bytes) -> RequestHead:
    """Return the head in `data`, which ends with the first empty line. Raises RefusedError if the
    head is malformed, too large or unsupported.
    """
    match = _HEAD.fullmatch(data)
    if match is None:
        _refuse_hopeless(data, 0, limits)
        raise RefusedError(400, "the request line or a header field is malformed")
    method, target, major, minor = match.groups()
    if match.end(4) > limits.start_line_bytes:
        raise RefusedError(414, f"the request line exceeds {limits.start_line_bytes} bytes")
    if major != b"1" or minor not in b"01":
        raise RefusedError(505, "only HTTP/1.0 and HTTP/1.1 are supported")
    if method not in METHODS:
        if method in (b"CONNECT", b"TRACE"):
            allow = (b"Allow", b", ".join(METHODS))
            raise RefusedError(405, f"{method.decode()} is not allowed here", headers=(allow,))
        raise RefusedError(501, "the method is not implemented")
    fields = _second_opinion(data, target)
    if len(fields) > limits.header_fields:
        raise RefusedError(431, f"the head has more than {limits.header_fields} header fields")
    return _interpreted(method, target, 0 if minor == b"0" else 1, fields, body_bytes)


def _second_opinion(data: bytes, target: bytes) -> list[tuple[bytes, bytes]]:
    """Return the fields that llhttp reads; refuse the request if llhttp rejects it or reads
    another target.
    """
    collector = Collector()
    try:
        HttpRequestParser(collector).feed_data(data)
    except HttpParserUpgrade:
        pass  # Upgrade is never accepted; the field is removed later
    except HttpParserError as error:
        # Only an error in Transfer-Encoding gets a separate reason.
        if "Transfer-Encoding" not in str(error) or not collector.fields:
            raise RefusedError(400, "the request is malformed") from None
        raise RefusedError(400, "Transfer-Encoding must be exactly chunked") from None
    if collector.url != target:
        raise RefusedError(400, "the request target is malformed")
    return collector.fields


def _interpreted(
    method: bytes, target: bytes, minor: int, raw: list[tuple[bytes, bytes]], body_bytes: int
) -> RequestHead:
    hosts: list[bytes] = []
    lengths: list[bytes] = []
    codings: list[bytes] = []
    options: list[bytes] = []
    expectations: list[bytes] = []
    attempt = 1
    fields: list[Field] = []
    for name, value in raw:
        low = name.lower()
        value = value.strip(b" \t")
        if low not in _READ_HERE:
            fields.append((low, name, value))
        elif low == b"host":
            hosts.append(value)
        elif low == b"content-length":
            lengths.append(value)
        elif low == b"transfer-encoding":
            codings.append(value)
        elif low == b"connection":
            options.append(value)
        elif low == b"expect":
            expectations.append(value.lower())
        else:
            if low == b"x-doorbuster-attempt":
                if not _ATTEMPT.fullmatch(value):
                    reason = "X-Doorbuster-Attempt must be a whole number from 1 to 999"
                    raise RefusedError(400, reason)
                attempt = int(value)
            elif method == b"OPTIONS":  # Max-Forwards
                value = _one_forward_less(value)
            fields.append((low, name, value))
    try:
        chunked = is_chunked(codings)
        length = content_length(lengths)
    except FramingError as error:
        # RFC 9112, 6.1: an unknown coding with valid framing gets status 501.
        is_sound = len(codings) == 1 and codings[0].lower().endswith((b",chunked", b" chunked"))
        raise RefusedError(501 if is_sound else 400, str(error)) from None
    if chunked and (length is not None or minor == 0):
        raise RefusedError(400, "Transfer-Encoding must not occur with Content-Length or HTTP/1.0")
    if length is not None and length > body_bytes:
        raise RefusedError(413, f"the body of {length} bytes exceeds {body_bytes} bytes")
    host, target = _destination(method, target, minor, hosts)
    expects_continue = False
    if expectations:
        if expectations != [b"100-continue"]:
            raise RefusedError(417, "the only supported expectation is 100-continue")
        expects_continue = minor == 1
    return RequestHead(
        method,
        target,
        minor,
        host,
        fields,
        listed(b",".join(options)) if options else NO_OPTIONS,
        length,
        chunked,
        expects_continue,
        attempt,
    )


def _destination(
    method: bytes, target: bytes, minor: int, hosts: list[bytes]
) -> tuple[bytes | None, bytes]:
    """Return (authority, target in origin form), as RFC 9112, section 3.2 defines them."""
    if len(hosts) > 1 or (minor == 1 and not hosts):
        raise RefusedError(400, "the request must have exactly one Host field")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise RefusedError(400, "Host must be a host name with an optional port")
    host = hosts[0] if hosts else None
    if b"#" in target:
        raise RefusedError(400, "the request target must not contain a fragment")
    if target.startswith(b"/") or (target == b"*" and method == b"OPTIONS"):
        return host, target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise RefusedError(400, "the request target must be a path")
    rest: bytes = absolute[2] or (b"*" if method == b"OPTIONS" else b"/")
    return absolute[1], rest if rest[:1] != b"?" else b"/" + rest


def _one_forward_less(value: bytes) -> bytes:
    """Return Max-Forwards for the next hop; refuse a request with the value 0 (RFC 9110, 7.6.2)."""
    if not _FORWARDS.fullmatch(value):
        raise RefusedError(400, "Max-Forwards must be a whole number")
    if int(value) == 0:
        raise RefusedError(204, "", headers=((b"Allow", b", ".join(METHODS)),))
    return b"%d" % (int(value) - 1)


@lru_cache(maxsize=64)
def listed(value: bytes) -> frozenset[bytes]:
    """Return the members of a comma-separated list in lower case."""
    members = (member.strip(b" \t").lower() for member in value.split(b","))
    return frozenset(member for member in members if member)
