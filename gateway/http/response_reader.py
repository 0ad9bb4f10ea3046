"""The reader of a connection to the shop.

The reader turns bytes into response heads and body pieces, without I/O (RFC 9112, section 6.3). It
accepts a head only if this module's strict grammar and llhttp (httptools) both accept it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from gateway.http.framing import (
    END,
    Body,
    ChunkedBody,
    End,
    EndlessBody,
    FramingError,
    LengthBody,
    content_length,
    is_chunked,
)
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.request_reader import (
    FIELD,
    FORBIDDEN,
    NO_OPTIONS,
    Collector,
    Field,
    PassedOn,
    RepeatedHeads,
    listed,
)

_HEAD = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9]{2})((?: [\t\x20-\x7e\x80-\xff]*+)?)\r\n(?:" + FIELD + rb")*+\r\n"
)
_INTERIM_HEADS = 16
_READ_HERE = frozenset((b"content-length", b"transfer-encoding", b"connection"))


class BadResponseError(Exception):
    """The error for an answer of the shop that cannot be passed on; the message is the reason."""


@dataclass(slots=True)
class ResponseHead:
    """The head of a usable final response. (Interim responses are dropped.) Several equal
    responses may share it.

    `fields` omits Content-Length, Transfer-Encoding and Connection, which the reader has already
    evaluated. `length_bytes` is the Content-Length, which HEAD and 304 responses may have without a
    body. `has_body` is true if a body, even an empty one, follows.
    """

    status: int
    reason: bytes
    fields: Sequence[Field]
    connection: frozenset[bytes]
    length_bytes: int | None
    is_chunked: bool
    has_body: bool
    minor_version: int
    keeps_alive: bool = field(init=False)
    """Whether the shop takes another request on the connection after this response."""
    passed_on: PassedOn | None = field(init=False, default=None, compare=False)
    """The result of `gateway.http.forwarding` for this head, kept for the next equal response."""

    def __post_init__(self) -> None:
        ends_with_connection = self.has_body and self.length_bytes is None and not self.is_chunked
        self.keeps_alive = (
            b"close" not in self.connection
            and (self.minor_version == 1 or b"keep-alive" in self.connection)
            and not ends_with_connection
        )


class ResponseReader:
    """A reader of the responses of one connection. Call `expect` with the request's method, then
    `receive` and `pull` as in RequestReader. END follows every response, even one without a body.
    """

    __slots__ = (
        "_body",
        "_body_limits",
        "_buffer",
        "_head_limits",
        "_head_readers",
        "_interim",
        "_read_head",
        "_scanned",
        "keeps_alive",
    )

    def __init__(self, head_limits: HeadLimits, body_limits: BodyLimits) -> None:
        self._head_limits = head_limits
        self._body_limits = body_limits
        self._buffer = b""
        self._scanned = 0
        self._interim = 0
        self._head_readers = _head_readers(head_limits)
        self._read_head = self._head_readers[False]
        self._body: Body | End | None = None
        self.keeps_alive = True

    def expect(self, method: bytes) -> None:
        """Record that the next response answers a request with this method."""
        self._read_head = self._head_readers[method == b"HEAD"]
        self._interim = 0

    @property
    def buffered_bytes(self) -> int:
        """The number of bytes not yet pulled; after END, they belong to no request."""
        return len(self._buffer)

    def receive(self, data: bytes) -> None:
        """Receive bytes from the connection."""
        self._buffer = self._buffer + data if self._buffer else data

    def receive_eof(self) -> None:
        """Handle the end of the shop's stream, which completes a body without a stated length;
        `pull` then returns END.

        Raises BadResponseError if the response is incomplete.
        """
        self.keeps_alive = False
        if type(self._body) is EndlessBody:
            self._body = END
        elif self._body is not END:
            raise BadResponseError("the shop closed the connection in the middle of a response")

    def pull(self) -> ResponseHead | bytes | End | None:
        """Return the next event, or None if more bytes are needed. Raises BadResponseError if the
        response is unusable.
        """
        body = self._body
        if body is None:
            return self._pull_head()
        if isinstance(body, End):
            self._body = None
            return END
        if not self._buffer:
            return None
        try:
            piece, self._buffer, complete = body.read(self._buffer)
        except FramingError as error:
            raise BadResponseError(str(error)) from None
        if complete:
            self._body = END
            return piece or self.pull()
        return piece or None

    def _pull_head(self) -> ResponseHead | None:
        while self._buffer:
            buffer = self._buffer
            end = buffer.find(b"\r\n\r\n", self._scanned) + 4
            if end < 4 or end > self._head_limits.head_bytes:
                if FORBIDDEN.search(buffer, self._scanned, self._head_limits.head_bytes):
                    raise BadResponseError(
                        "the head contains a control character or a line end other than CRLF"
                    )
                if len(buffer) >= self._head_limits.head_bytes:
                    raise BadResponseError("the head is too long")
                self._scanned = max(0, len(buffer) - 3)
                return None
            self._scanned = 0
            head = self._read_head(buffer if end == len(buffer) else buffer[:end])
            self._buffer = buffer[end:]
            if head is not None:
                self._begin_body(head)
                return head
            self._interim += 1
            if self._interim > _INTERIM_HEADS:
                raise BadResponseError("too many interim responses")
        return None

    def _begin_body(self, head: ResponseHead) -> None:
        self.keeps_alive = head.keeps_alive
        if not head.has_body or head.length_bytes == 0:
            self._body = END
        elif head.is_chunked:
            self._body = ChunkedBody(self._body_limits, bounded=False)
        elif head.length_bytes is not None:
            self._body = LengthBody(head.length_bytes)
        else:
            self._body = EndlessBody()


@lru_cache
def _head_readers(
    limits: HeadLimits,
) -> Mapping[bool, Callable[[bytes], ResponseHead | None]]:
    """Return the functions that read heads within these limits; all connections share them. The
    key is whether the response answers a HEAD request.
    """
    return {
        is_for_head: RepeatedHeads(partial(_read_head, limits.header_fields, is_for_head)).read
        for is_for_head in (False, True)
    }


def _read_head(most_fields: int, is_for_head: bool, data: bytes) -> ResponseHead | None:
    """Return the head in `data`, or None for an interim response; raise BadResponseError if it
    is invalid. A response to a HEAD request (`is_for_head`) has no body.
    """
    match = _HEAD.fullmatch(data)
    if match is None:
        raise BadResponseError("the status line or a header field is malformed")
    status = int(match[2])
    if status < 200:
        if status == 101:
            raise BadResponseError("the shop switched protocols, which the request did not allow")
        return None
    if status > 599:
        raise BadResponseError(f"status {status} does not exist")
    collector = Collector()
    try:
        HttpResponseParser(collector).feed_data(data)
    except HttpParserUpgrade:
        pass
    except HttpParserError:
        raise BadResponseError("the head is malformed") from None
    is_1_1 = match[1] == b"1"
    lengths: list[bytes] = []
    codings: list[bytes] = []
    options: list[bytes] = []
    fields: list[Field] = []
    for name, value in collector.fields:
        low = name.lower()
        value = value.strip(b" \t")
        if low not in _READ_HERE:
            fields.append((low, name, value))
        elif low == b"content-length":
            lengths.append(value)
        elif low == b"transfer-encoding":
            codings.append(value)
        else:
            options.append(value)
    if len(fields) > most_fields:
        raise BadResponseError("too many header fields")
    try:
        length = content_length(lengths) if lengths else None
        chunked = is_chunked(codings) if codings else False
    except FramingError as error:
        raise BadResponseError(str(error)) from None
    if chunked and (length is not None or not is_1_1):
        raise BadResponseError("Transfer-Encoding must not occur with Content-Length or HTTP/1.0")
    connection = listed(b",".join(options)) if options else NO_OPTIONS
    bodiless = is_for_head or status == 204 or status == 304
    return ResponseHead(
        status,
        match[3],
        fields,
        connection,
        None if status == 204 else length,
        chunked,
        not bodiless,
        1 if is_1_1 else 0,
    )
