"""The signed cookie by which the gateway knows a session again.

Owns: its form and its signature, what tells it from other cookies.
Must not know: when a session begins or ends, any clock, sockets.

The value is `1.<session>.<expiry>.<signature>`: version, 16 random bytes, seconds since 1970, and
the HMAC-SHA256 of everything before it together with the cookie's name; both byte strings in
base64url. It says nothing about who the customer is.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import Final, NamedTuple

from gateway.http import cookie_field

NAME: Final = b"doorbuster_session"
"""Its name unless another is wanted; a browser shows its cookies to every port of a host."""
SESSION_BYTES: Final = 16
"""Random bytes of a session id."""

_VALUE: Final = re.compile(rb"(1\.([A-Za-z0-9_-]{22})\.([0-9]{1,12}))\.([A-Za-z0-9_-]{43})")
_LONGEST_BYTES: Final = 96
# A customer shows the same cookie again and again: what was checked lately is not checked again.
_REMEMBERED: Final = 8192


class Known(NamedTuple):
    """What a genuine cookie says; `expires_s` is in seconds since 1970."""

    session: str
    expires_s: int


class SessionCookie:
    """The cookie of one gateway: makes its values and tells genuine ones from all others.

    Whoever has key and name can do both.
    """

    __slots__ = ("_key", "_pairs", "_remembered", "mark", "name")

    def __init__(self, key: bytes, name: bytes = NAME) -> None:
        self.name = name
        self.mark = name + b"="
        """What its value follows in a Cookie field."""
        self._key = key
        self._pairs = cookie_field.pairs_named(name)
        self._remembered = lru_cache(_REMEMBERED)(self._check)

    def value(self, session: str, expires_s: int) -> bytes:
        """The cookie of `session`, genuine until `expires_s` (seconds since 1970)."""
        said = b"1.%b.%d" % (session.encode(), expires_s)
        return said + b"." + self._signature(said)

    def read(self, value: bytes, now_s: float) -> Known | None:
        """What `value` says; None if it is malformed, of another version or key, or expired."""
        if len(value) > _LONGEST_BYTES:
            return None
        known = self._remembered(value)
        return known if known is not None and now_s < known.expires_s else None

    def session_of(self, secret: bytes) -> str:
        """A session's id that follows from `secret` and gives nothing of it away."""
        # Never the beginning of a signature: customers choose `secret`, and are shown the id.
        return session_id(hmac.digest(self._key, b"session of " + secret, "sha256")[:SESSION_BYTES])

    def without(self, cookies: bytes) -> bytes:
        """A Cookie field's value without this cookie, as the shop gets it; may be empty."""
        return cookie_field.without(cookies, self._pairs) if self.name in cookies else cookies

    def is_set_by(self, set_cookie: bytes) -> bool:
        """Whether this value of a Set-Cookie field would set the cookie."""
        return set_cookie.partition(b";")[0].partition(b"=")[0].strip(b" \t") == self.name

    def _check(self, value: bytes) -> Known | None:
        match = _VALUE.fullmatch(value)
        if match is None:
            return None
        said, session, expiry, signature = match.groups()
        # Compared as text: another spelling of the same bytes is no signature of ours.
        if not hmac.compare_digest(self._signature(said), signature):
            return None
        return Known(session.decode(), int(expiry))

    def _signature(self, said: bytes) -> bytes:
        return _base64url(hmac.digest(self._key, self.mark + said, "sha256"))


def session_id(random: bytes) -> str:
    """A session's id out of SESSION_BYTES random bytes."""
    return _base64url(random).decode()


def _base64url(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
