"""JSON from outside the gateway, with a bound on the work before any of it is decoded.

Owns: counting what a text would become, decoding it. Must not know: what the values mean.

Decoding holds up the event loop, and a thread does not help: Python's decoder keeps the
interpreter's lock. Many values take long, not many bytes: 4 MiB of empty lists take twenty times
as long as a text of 4 MiB. A few searches of the bytes count the values.
"""

import gc
import json
from typing import Final, NamedTuple, NoReturn

_MARKS: Final = (b"[", b"{", b",", b":")
_SMALL_BYTES: Final = 1024
"""A text of this size has too few values to be counted."""


class Most(NamedTuple):
    """The largest content that is read."""

    size_bytes: int
    values: int
    """As `has_over` counts them."""


class PlainJsonError(ValueError):
    """The content is not JSON, or has too many values (`is_large`); the text says which."""

    def __init__(self, message: str, *, is_large: bool = False) -> None:
        super().__init__(message)
        self.is_large = is_large


def has_over(content: bytes, most_values: int) -> bool:
    """Whether the content may have more values than this: brackets, braces, colons and commas
    outside of texts, and texts."""
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    texts = plain.count(b'"') // 2
    if texts > most_values:
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return texts + sum(map(outside.count, _MARKS)) > most_values


def decoded(content: bytes, most_values: int) -> object:
    """The value in the content; raises PlainJsonError, before decoding for too many values."""
    is_large = len(content) > _SMALL_BYTES
    if is_large and has_over(content, most_values):
        raise PlainJsonError(f"has over {most_values:,} values", is_large=True)
    collects = is_large and gc.isenabled()
    try:
        if collects:  # looking for garbage while many values are made takes most of the time
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
