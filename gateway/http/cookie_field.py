"""Functions that find or remove a cookie in a customer's Cookie fields. As in most servers, every
semicolon ends a cookie (RFC 6265, section 5.4).
"""

import re
from collections.abc import Iterable

from gateway.http.request_reader import Field

_BLANKS = b" \t"


def find(fields: Iterable[Field], mark: bytes) -> bytes | None:
    """Return the value, without quotes, of the first cookie that begins with `mark`, its name and
    equals sign. The search time is proportional to the length of the fields.
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
    """Return the pattern for `without`: every cookie of this name, with the semicolon before it."""
    return re.compile(rb"(?:^|;)[ \t]*" + re.escape(name) + rb"[ \t]*(?:=[^;]*)?(?=;|\Z)")


def without(cookies: bytes, pairs: re.Pattern[bytes]) -> bytes:
    """Return a Cookie field's value without the cookies that `pairs` matches; the result may be
    empty.
    """
    return pairs.sub(b"", cookies).lstrip(b"; \t")
