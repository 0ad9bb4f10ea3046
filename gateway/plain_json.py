"""A reader of JSON from outside the gateway, which refuses content with too many values before
decoding it.

Decoding blocks the event loop, even in a thread, because Python's decoder keeps the interpreter's
lock. The decoding time depends on the number of values, so this module first counts the values in
content of more than `_SMALL_BYTES`.
"""

import gc
import json
from typing import Final, NamedTuple, NoReturn

_MARKS: Final = (b"[", b"{", b",", b":")
_SMALL_BYTES: Final = 1024
"""The size, in bytes, up to which content is decoded without counting its values."""


class Most(NamedTuple):
    """The limits on JSON content: its size in bytes, and its number of values."""

    size_bytes: int
    values: int
    """The maximum number of values, counted as in `has_over`."""


class PlainJsonError(ValueError):
    """The error for content that is not JSON or has too many values (`is_large`)."""

    def __init__(self, message: str, *, is_large: bool = False) -> None:
        super().__init__(message)
        self.is_large = is_large


def has_over(content: bytes, most_values: int) -> bool:
    """Return whether the content may have more than `most_values` values. The count is an upper
    estimate, because the content is not decoded.
    """
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    texts = plain.count(b'"') // 2
    if texts > most_values:
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return texts + sum(map(outside.count, _MARKS)) > most_values


def decoded(content: bytes, most_values: int) -> object:
    """Return the decoded content. Raises PlainJsonError if the content is not JSON, or if it has
    more than `_SMALL_BYTES` and may have too many values.
    """
    is_large = len(content) > _SMALL_BYTES
    if is_large and has_over(content, most_values):
        raise PlainJsonError(f"has more than {most_values:,} values", is_large=True)
    collects = is_large and gc.isenabled()
    try:
        if collects:  # Otherwise the garbage collector would take most of the time.
            gc.disable()
        return _decode(content.decode())
    except (ValueError, RecursionError):
        raise PlainJsonError("is not JSON") from None
    finally:
        if collects:
            gc.enable()


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


_decode = json.JSONDecoder(parse_constant=_no_number).decode
