"""A reader of JSON from outside the gateway, which limits the work of decoding in advance.

Decoding blocks the event loop, even in a thread, because Python's decoder keeps the interpreter's
lock. The time that it takes depends on the number of values, not on the number of bytes: 4 MiB of
empty lists take twenty times as long as a single text of 4 MiB. So this module first counts the
values with a few quick searches.
"""

import gc
import json
from typing import Final, NamedTuple, NoReturn

_MARKS: Final = (b"[", b"{", b",", b":")
_SMALL_BYTES: Final = 1024
"""The size, in bytes, up to which a content is decoded without counting its values."""


class Most(NamedTuple):
    """The maximum size, in bytes, of content that is read."""

    size_bytes: int
    values: int
    """The limit on the number of values, counted as in `has_over`."""


class PlainJsonError(ValueError):
    """The error for content that is not JSON or has too many values (`is_large`)."""

    def __init__(self, message: str, *, is_large: bool = False) -> None:
        super().__init__(message)
        self.is_large = is_large


def has_over(content: bytes, most_values: int) -> bool:
    """Return whether the content may have more values than `most_values`.

    The count includes texts, and the brackets, braces, colons and commas outside texts.
    """
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    texts = plain.count(b'"') // 2
    if texts > most_values:
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return texts + sum(map(outside.count, _MARKS)) > most_values


def decoded(content: bytes, most_values: int) -> object:
    """Return the value in the content. Raises PlainJsonError; for too many values, it raises the
    error before decoding.
    """
    is_large = len(content) > _SMALL_BYTES
    if is_large and has_over(content, most_values):
        raise PlainJsonError(f"has over {most_values:,} values", is_large=True)
    collects = is_large and gc.isenabled()
    try:
        if collects:  # The garbage collector would take most of the time.
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
