"""The signed cookie by which the gateway recognises a session.

The value is `1.<session>.<expiry>.<signature>`: a version, the session id (16 bytes), seconds since
1970, and the HMAC-SHA256 of these parts and of the cookie's name. The id and the HMAC are in
base64url.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from gateway.http.request_reader import Field

NAME: Final = b"doorbuster_session"
"""The cookie's default name. Browsers send a host's cookies to all ports of the host, so other
servers on the host must use other names.
"""
SESSION_BYTES: Final = 16
"""The number of bytes in a session id."""

_VALUE: Final = re.compile(rb"(1\.([A-Za-z0-9_-]{22})\.([0-9]{1,12}))\.([A-Za-z0-9_-]{43})")
_LONGEST_BYTES: Final = 96
# A customer sends the same cookie with every request, so recent checks are cached.
_REMEMBERED: Final = 8192
_BLANKS: Final = b" \t"


def find(fields: Iterable[Field], mark: bytes) -> bytes | None:
    """Return the value, without quotes, of the first cookie that begins with `mark`, which is the
    cookie's name with an equals sign. As in most servers, every semicolon ends a cookie (RFC 6265,
    section 5.4). The search time is proportional to the length of the fields.
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


class Known(NamedTuple):
    """The content of a valid cookie; `expires_s` is in seconds since 1970."""

    session: str
    expires_s: int


class SessionCookie:
    """The cookie of one gateway: an object that creates and checks the cookie's values.

    All gateways with the same key and cookie name accept each other's cookies.
    """

    __slots__ = ("_key", "_pairs", "_remembered", "mark", "name")

    def __init__(self, key: bytes, name: bytes = NAME) -> None:
        self.name = name
        self.mark = name + b"="
        """The cookie's name and an equals sign, as bytes."""
        self._key = key
        # Every cookie of this name, with the semicolon before it.
        self._pairs = re.compile(
            rb"(?:^|;)[ \t]*" + re.escape(name) + rb"[ \t]*(?:=[^;]*)?(?=;|\Z)"
        )
        self._remembered = lru_cache(_REMEMBERED)(self._check)

    @property
    def remembered(self) -> int:
        """The number of cookie values in the cache."""
        return self._remembered.cache_info().currsize

    def value(self, session: str, expires_s: int) -> bytes:
        """Return the cookie value for `session`, valid until `expires_s` (seconds since 1970)."""
        said = b"1.%b.%d" % (session.encode(), expires_s)
        return said + b"." + self._signature(said)

    def read(self, value: bytes, now_s: float) -> Known | None:
        """Return the content of `value`; None if it is malformed, expired or signed with another
        key.
        """
        if len(value) > _LONGEST_BYTES:
            return None
        known = self._remembered(value)
        return known if known is not None and now_s < known.expires_s else None

    def session_of(self, secret: bytes) -> str:
        """Return a session id that is derived from `secret` but does not reveal it."""
        # The id must not be the beginning of a signature, because customers choose `secret` and see
        # the id.
        return session_id(hmac.digest(self._key, b"session of " + secret, "sha256")[:SESSION_BYTES])

    def without(self, cookies: bytes) -> bytes:
        """Return a Cookie field's value without this cookie; the result may be empty."""
        if self.name not in cookies:
            return cookies
        return self._pairs.sub(b"", cookies).lstrip(b"; \t")

    def is_set_by(self, set_cookie: bytes) -> bool:
        """Return whether this Set-Cookie value would set the gateway's cookie."""
        return set_cookie.partition(b";")[0].partition(b"=")[0].strip(b" \t") == self.name

    def _check(self, value: bytes) -> Known | None:
        match = _VALUE.fullmatch(value)
        if match is None:
            return None
        said, session, expiry, signature = match.groups()
        # Compared as text, because base64url can write the same bytes in several ways.
        if not hmac.compare_digest(self._signature(said), signature):
            return None
        return Known(session.decode(), int(expiry))

    def _signature(self, said: bytes) -> bytes:
        return _base64url(hmac.digest(self._key, self.mark + said, "sha256"))


def session_id(random: bytes) -> str:
    """Return the session id that encodes these SESSION_BYTES bytes."""
    return _base64url(random).decode()


def _base64url(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
