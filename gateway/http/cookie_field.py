"""A customer's Cookie fields: finding one cookie in them, leaving one out.

Owns: where a cookie begins and ends in a field (RFC 6265, section 5.4, read as servers do: at every
semicolon). Must not know: any particular cookie.
"""

import re
from collections.abc import Iterable

from gateway.http.request_reader import Field

_BLANKS = b" \t"


def find(fields: Iterable[Field], mark: bytes) -> bytes | None:
    """The value of the first cookie of a name in a request's header fields, without quotes.

    `mark` is the name with its equals sign. One pass, however often the name occurs elsewhere.
    """
    for low, _, cookies in fields:
        if low != b"cookie":
            continue
        at = cookies.find(mark)
        while at >= 0:
            before = at - 1
            while before >= 0 and cookies[before] in _BLANKS:
                before -= 1
            if before < 0 or cookies[before] == 0x3B:  # a semicolon
                end = cookies.find(b";", at)
                value = cookies[at + len(mark) : end] if end >= 0 else cookies[at + len(mark) :]
                return value.strip(b' \t"')
            at = cookies.find(mark, at + 1)
    return None


def pairs_named(name: bytes) -> re.Pattern[bytes]:
    """What `without` leaves out for a name: every such cookie with the semicolon before it."""
    return re.compile(rb"(?:^|;)[ \t]*" + re.escape(name) + rb"[ \t]*(?:=[^;]*)?(?=;|\Z)")


def without(cookies: bytes, pairs: re.Pattern[bytes]) -> bytes:
    """A Cookie field's value without the cookies that `pairs` finds; empty if nothing is left."""
    return pairs.sub(b"", cookies).lstrip(b"; \t")
