"""The session of each request, and the rule for setting the gateway's cookie. Decision record 0006
(docs/decisions) defines sessions.
"""

import os
import time
from collections.abc import Callable
from math import ceil
from typing import Final, NamedTuple

from gateway.clock import PaperClock
from gateway.http import session_cookie
from gateway.http.request_reader import RequestHead
from gateway.http.session_cookie import SessionCookie

# A cookie is valid for the session timeout T plus this share of T, and is renewed once less than T
# is left. So every customer who returns within T is recognised, although few answers carry a new
# cookie.
_SLACK_RATIO: Final = 1 / 8


class Session(NamedTuple):
    """The session to which a request belongs.

    - `id` is None if nothing identifies the session.
    - `is_new` is true if this request would open the session.
    - `expires_s` is the expiry of the request's signed cookie in seconds since 1970. It is 0 if
      the request has no valid signed cookie, and None if the gateway uses no signed cookies.
    """

    id: str | None
    is_new: bool
    expires_s: int | None = None


_UNKNOWN: Final = Session(None, True)


class Sessions:
    """The object that determines the session of each request. With `is_guarded`, the gateway's
    signed cookie identifies the session; otherwise, the shop's cookie does. `timeout_s` is the
    session timeout T in paper seconds.
    """

    def __init__(
        self,
        cookie: SessionCookie,
        clock: PaperClock,
        *,
        shop_cookie: str,
        timeout_s: float,
        is_guarded: bool,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Create the object; `wall_s` returns seconds since 1970, because cookies outlive this
        process.
        """
        self.cookie = cookie
        self._clock = clock
        self._timeout_s = timeout_s
        self._is_guarded = is_guarded
        self._trust_ends_s = clock()
        self._wall_s = wall_s
        self._shop_mark = shop_cookie.encode() + b"="

    def guard(self, is_guarded: bool) -> None:
        """Begin or end the use of signed cookies.

        Customers who are already in the shop have no signed cookies. For the next T paper seconds,
        the gateway therefore also accepts the shop's cookie, although it cannot check this cookie.
        """
        if is_guarded and not self._is_guarded:
            self._trust_ends_s = self._clock() + self._timeout_s
        self._is_guarded = is_guarded

    def of(self, head: RequestHead) -> Session:
        """Return the session of a request; with signed cookies, the session always has an id."""
        if not self._is_guarded:
            value = session_cookie.find(head.fields, self._shop_mark)
            return Session(value.decode("latin-1"), False, None) if value else _UNKNOWN
        value = session_cookie.find(head.fields, self.cookie.mark)
        known = self.cookie.read(value, self._wall_s()) if value else None
        if known is not None:
            return Session(known.session, False, known.expires_s)
        if self._clock() < self._trust_ends_s:
            value = session_cookie.find(head.fields, self._shop_mark)
            if value:
                return Session(self.cookie.session_of(value), False, 0)
        random = os.urandom(session_cookie.SESSION_BYTES)
        return Session(session_cookie.session_id(random), True, 0)

    def set_cookie(self, session: Session) -> bytes | None:
        """Return the Set-Cookie value for the answer to a request of `session`; None if no cookie
        is needed.
        """
        if not self._is_guarded or session.id is None or session.expires_s is None:
            return None
        now_s = self._wall_s()
        timeout_s = self._clock.real_s(self._timeout_s)
        longest_s = ceil(timeout_s * (1 + _SLACK_RATIO))
        # A cookie that is valid for too long is also replaced, because T in real seconds depends on
        # the time scale.
        if timeout_s <= session.expires_s - now_s <= longest_s + 1:
            return None
        return b"%b=%b; Max-Age=%d; Path=/; HttpOnly; SameSite=Lax" % (
            self.cookie.name,
            self.cookie.value(session.id, ceil(now_s) + longest_s),
            longest_s,
        )
