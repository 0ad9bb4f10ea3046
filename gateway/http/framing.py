"""Readers that find the end of a message's body (RFC 9112, sections 6 and 7).

Content-Length and Transfer-Encoding are read strictly, because lenient reading allows request
smuggling.
"""

import re
from typing import Final

from gateway.http.limits import BodyLimits

_LENGTH = re.compile(rb"[0-9]{1,18}")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,12})((?:;[\t\x20-\x7e\x80-\xff]*)?)")
_FIELD_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t\x20-\x7e\x80-\xff]*+")
# A size line is "1–12 digits, extensions, CRLF". A longer line is refused before its end arrives.
_SIZE_LINE_SLACK_BYTES: Final = 16


class FramingError(Exception):
    """The error for a body whose end is uncertain; the message gives the reason."""


class TooLongError(FramingError):
    """The error for a body, a chunk extension or a trailer that exceeds a limit."""


class End:
    """The type of END, the mark at the end of a body."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "END"


END: Final = End()


def content_length(values: list[bytes]) -> int | None:
    """Return the length in bytes from the Content-Length field; None if there is no such field.

    Two fields are refused even if they agree, because other servers may interpret them
    differently.
    """
    if not values:
        return None
    if len(values) > 1:
        raise FramingError("Content-Length must occur only once")
    if not _LENGTH.fullmatch(values[0]):
        raise FramingError("Content-Length must have 1 to 18 decimal digits")
    return int(values[0])


def is_chunked(values: list[bytes]) -> bool:
    """Return whether the body is chunked; raise FramingError for any other Transfer-Encoding."""
    if not values:
        return False
    if len(values) > 1 or values[0].lower() != b"chunked":
        raise FramingError("Transfer-Encoding must be exactly chunked")
    return True


class LengthBody:
    """A reader of a body whose length is known."""

    __slots__ = ("_left",)

    def __init__(self, length_bytes: int) -> None:
        self._left = length_bytes

    def read(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Return (piece of the body, rest of the data, whether the body is complete)."""
        size = len(data)
        left = self._left
        if size < left:
            self._left = left - size
            return data, b"", False
        self._left = 0
        if size == left:
            return data, b"", True
        return data[:left], data[left:], True


class EndlessBody:
    """A reader of a response's body that has no stated length and ends with the connection."""

    __slots__ = ()

    def read(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Return (piece of the body, nothing, False)."""
        return data, b"", False


class ChunkedBody:
    """A strict decoder of a chunked body. It drops extensions and trailers. Every line must end in
    CRLF, every size must be 1–12 hexadecimal digits, and CRLF must follow the data.
    """

    __slots__ = ("_extension_bytes", "_left", "_limits", "_pending", "_size_bytes", "_state")

    _SIZE, _DATA, _DATA_END, _TRAILER, _DONE = range(5)

    def __init__(self, limits: BodyLimits, *, bounded: bool) -> None:
        """Create the decoder. If `bounded` is true, as for requests, `limits.body_bytes` limits
        the body.
        """
        self._limits = limits
        self._state = self._SIZE
        self._left = 0
        self._pending = b""
        self._extension_bytes = 0
        self._size_bytes = 0 if bounded else -1

    def read(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Return (decoded piece, rest of the data after the body, whether the body is complete).

        Raises TooLongError if a limit is exceeded, and FramingError if the body is malformed. The
        decoder keeps an unfinished line for the next call.
        """
        data = self._pending + data if self._pending else data
        self._pending = b""
        pieces: list[bytes] = []
        at = 0
        while True:
            if self._state == self._DATA:
                piece = data[at : at + self._left]
                if piece:
                    pieces.append(piece)
                    at += len(piece)
                    self._left -= len(piece)
                if self._left:
                    break
                self._state = self._DATA_END
            if self._state == self._DATA_END:
                ending = data[at : at + 2]
                if not b"\r\n".startswith(ending):
                    raise FramingError("chunk data must be followed by CRLF")
                if len(ending) < 2:
                    self._pending = ending
                    break
                at += 2
                self._state = self._SIZE
            line_end = self._line_end(data, at)
            if line_end < 0:
                self._pending = data[at:]
                break
            line = data[at:line_end]
            at = line_end + 2
            if self._state == self._SIZE:
                self._take_size(line)
            elif line:
                self._take_trailer(line)
            else:
                self._state = self._DONE
                return b"".join(pieces), data[at:], True
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), b"", False

    def _line_end(self, data: bytes, at: int) -> int:
        """Return the index of the CRLF that ends the line at `at`, or -1 if the line is incomplete.
        Raises FramingError for any other line end, and TooLongError if the line is too long.
        """
        if self._state == self._SIZE:
            allowed = self._limits.chunk_extension_bytes + _SIZE_LINE_SLACK_BYTES
        else:
            allowed = self._limits.trailer_bytes
        feed = data.find(b"\n", at, at + allowed + 2)
        line = data[at : feed if feed >= 0 else at + allowed + 2]
        carriage_return = line.find(b"\r")
        if 0 <= carriage_return < len(line) - 1 or (feed >= 0 and carriage_return < 0):
            raise FramingError("a line of a chunked body must end in CRLF")
        if feed < 0:
            if len(data) - at > allowed:
                raise TooLongError("a line of a chunked body is too long")
            return -1
        return feed - 1

    def _take_size(self, line: bytes) -> None:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise FramingError("the size line of a chunk is malformed")
        self._extension_bytes += len(match[2])
        if self._extension_bytes > self._limits.chunk_extension_bytes:
            raise TooLongError("chunk extensions are too long")
        size = int(match[1], 16)
        if self._size_bytes >= 0:
            self._size_bytes += size
            if self._size_bytes > self._limits.body_bytes:
                raise TooLongError(f"the body exceeds {self._limits.body_bytes} bytes")
        self._left = size
        if size:
            self._state = self._DATA
        else:
            self._state = self._TRAILER
            self._extension_bytes = 0  # from here on, this counts the trailer's bytes

    def _take_trailer(self, line: bytes) -> None:
        self._extension_bytes += len(line) + 2
        if self._extension_bytes > self._limits.trailer_bytes:
            raise TooLongError("trailer fields are too long")
        if not _FIELD_LINE.fullmatch(line):
            raise FramingError("a trailer field is malformed")


Body = LengthBody | ChunkedBody | EndlessBody
