"""The banner of a page, asked from the ad server within a deadline.

Owns: what is asked, how long a page waits for it, when the ad server is left alone, what counts as
an answer. Must not know: how banners are chosen, what is on a page.

A page is never worse for its banner than by the deadline: whatever goes wrong, the slot stays
empty. Each thread keeps a connection.
"""

import json
import logging
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import httptools
from django.conf import settings
from django.http import HttpRequest

from shop.catalogue.shelves import SHELVES
from shop.page_types import PAGE_TYPE_BY_URL_NAME

HOST = "127.0.0.1"
DEADLINE_S = 0.05
FAILURES_IN_A_ROW = 3
PAUSE_S = 1.0  # and then one page asks, until the ad server answers again
MOST_CONCEPTS = 10  # as many as the paper asks for
SIZES = {"desk": "728x90", "phone": "234x60"}
LOW, HIGH = 0, 1
_logger = logging.getLogger(__name__)
_ANSWER_BYTES = 64 * 1024
_IMAGE = re.compile(r"/ads/banner/[0-9]{1,18}\.svg")
_CLICK = re.compile(r"/ads/click/[0-9]{1,18}")


class SettingRefused(ValueError):  # noqa: N818 -- what happened, as the controller reads it
    """A value that the setting `ads` cannot have; says what it may be."""

    def __init__(self, allowed: str) -> None:
        super().__init__(f"ads: must be {allowed}")
        self.allowed = allowed


class Failed(Exception):  # noqa: N818
    """The ad server did not answer as it should."""


class Refused(Exception):  # noqa: N818
    """The ad server does not take this question, but it lives."""


@dataclass(frozen=True, slots=True)
class Banner:
    """What a page shows: paths on the shop's own site, pixels."""

    image: str
    click: str
    width: int
    height: int
    alt: str


def read(body: bytes) -> Banner | None:
    """The banner in an answer, None if there was none to place. Raises Failed."""
    try:
        placed = json.loads(body)["banners"]
        if placed == []:
            return None
        [only] = placed
        banner = Banner(**{name: only[name] for name in Banner.__slots__})
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Failed(f"not banners: {error!r}") from error
    texts = (banner.image, banner.click, banner.alt)
    if not all(isinstance(text, str) for text in texts) or not banner.alt:
        raise Failed("image, click and alt must be text")
    if not (_IMAGE.fullmatch(banner.image) and _CLICK.fullmatch(banner.click)):
        raise Failed("image and click must be the ad server's")
    if f"{banner.width}x{banner.height}" not in SIZES.values():
        raise Failed("width and height must be those that were asked for")
    return banner


class Patience:
    """Whether the ad server is worth asking: after failures in a row, once a pause. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._asks_again_s = 0.0

    def may_ask(self) -> bool:
        """True to everybody while all is well, during failure to one page a pause."""
        if self._failures < FAILURES_IN_A_ROW:
            return True
        with self._lock:
            now_s = self._clock()
            if now_s < self._asks_again_s:
                return False
            self._asks_again_s = now_s + PAUSE_S
            return True

    def answered(self) -> bool:
        """It lives. True if it had been given up."""
        with self._lock:
            given_up = self._failures >= FAILURES_IN_A_ROW
            self._failures = 0
            return given_up

    def failed(self) -> bool:
        """It did not answer, or not in time, or nonsense. True if it is now given up."""
        with self._lock:
            self._failures += 1
            self._asks_again_s = self._clock() + PAUSE_S
            return self._failures == FAILURES_IN_A_ROW


class _Answer:
    """What httptools reports of one response."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.body = bytearray()
        self.complete = self.keep = False

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.complete = True
        self.keep = self.parser.should_keep_alive()


class AdServer:
    """Asks one ad server; the deadline is live time, whatever the time scale."""

    def __init__(self, port: int, deadline_s: float = DEADLINE_S) -> None:
        self.port = port
        self._deadline_s = deadline_s
        self._mine = threading.local()

    def get(self, target: str) -> bytes:
        """The body of a 200. Raises Failed or Refused before the deadline is over by much."""
        deadline_s = time.monotonic() + self._deadline_s
        question = f"GET {target} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\n\r\n".encode("ascii")
        # Taken away until the answer is complete: what is left half-way is never used again.
        kept: socket.socket | None = self._mine.__dict__.pop("connection", None)
        try:
            if kept is not None:
                try:
                    return self._exchange(kept, question, deadline_s)
                except _Closed:
                    kept.close()  # meanwhile, as servers do: once more on a new one
            kept = socket.create_connection((HOST, self.port), _left(deadline_s))
            kept.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self._exchange(kept, question, deadline_s)
        except (OSError, httptools.HttpParserError) as error:
            raise Failed(str(error) or type(error).__name__) from error
        finally:
            if kept is not None and getattr(self._mine, "connection", None) is not kept:
                kept.close()

    def close(self) -> None:
        """Give up this thread's connection."""
        kept: socket.socket | None = self._mine.__dict__.pop("connection", None)
        if kept is not None:
            kept.close()

    def _exchange(self, connection: socket.socket, question: bytes, deadline_s: float) -> bytes:
        answer = _Answer()
        try:
            connection.settimeout(_left(deadline_s))
            connection.sendall(question)
            while not answer.complete:
                connection.settimeout(_left(deadline_s))
                data = connection.recv(65536)
                if not data:
                    raise ConnectionResetError("it closed the connection")
                answer.parser.feed_data(data)
                if len(answer.body) > _ANSWER_BYTES:
                    raise Failed(f"an answer of more than {_ANSWER_BYTES} bytes")
        except ConnectionError as error:
            raise _Closed(str(error)) from error
        if answer.keep:
            self._mine.connection = connection
        status = answer.parser.get_status_code()
        if 400 <= status < 500:
            raise Refused(f"answered {status}: {bytes(answer.body[:200])!r}")
        if status != 200:
            raise Failed(f"answered {status}")
        return bytes(answer.body)


class _Closed(ConnectionError):  # noqa: N818
    """The ad server closed the connection before it had answered."""


def _left(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("no answer in time")
    return left_s


class Banners:
    """The banners of this shop: off without an ad server, or when the controller says so."""

    def __init__(self, server: AdServer | None, patience: Patience) -> None:
        self.wanted = server is not None
        self._server = server
        self._patience = patience

    def want(self, wanted: object) -> None:
        """Switch banners on or off. Raises SettingRefused and changes nothing."""
        self.check(wanted)
        self.wanted = bool(wanted)

    def check(self, wanted: object) -> None:
        """Raises SettingRefused if `want` would."""
        if not isinstance(wanted, bool):
            raise SettingRefused("true or false")
        if wanted and self._server is None:
            raise SettingRefused("false; this shop has no ad server (DOORBUSTER_ADS_PORT)")

    def choose(self, size: str, concepts: Iterable[str], priority: int) -> Banner | None:
        """A banner of that size about some of these concepts, or None. Never raises."""
        if self._server is None or not self._patience.may_ask():
            return None
        query = {
            "slots": 1,
            "size": size,
            "concepts": ",".join(_some(concepts)),
            "priority": priority,
        }
        try:
            banner = read(self._server.get("/ads/select?" + urlencode(query, safe=",")))
        except Refused as refused:
            _logger.debug("No banner: %s", refused)
            banner = None
        except Failed as failure:
            if self._patience.failed():
                _logger.warning("Pages go without banners; the ad server: %s", failure)
            return None
        if self._patience.answered():
            _logger.warning("Pages have banners again")
        return banner


def _some(concepts: Iterable[str]) -> list[str]:
    """At most MOST_CONCEPTS different ones; of all shelves if there are none."""
    given = list(dict.fromkeys(concepts))
    if not given:
        given = random.sample([shelf.slug for shelf in SHELVES], MOST_CONCEPTS)
    return given[:MOST_CONCEPTS]


class Slot:
    """The slot of one page, as its template reads it; nothing is asked before that.

    `concepts` is called when banners are wanted: the shelves of the page's books, by default any.
    """

    def __init__(
        self, request: HttpRequest, concepts: Callable[[], Iterable[str]] = lambda: ()
    ) -> None:
        self._request = request
        self._concepts = concepts

    @property
    def wanted(self) -> bool:
        """Whether the page has a slot at all."""
        return banners.wanted

    @cached_property
    def banner(self) -> Banner | None:
        """What stands in it; None leaves it empty."""
        return banners.choose(self.size, self._concepts(), _priority(self._request))

    @property
    def size(self) -> str:
        """As the ad server names it."""
        return SIZES[self.device]

    @property
    def device(self) -> str:
        """`phone` for a browser that says it is on one, else `desk`."""
        return "phone" if "Mobi" in self._request.headers.get("User-Agent", "") else "desk"


def _priority(request: HttpRequest) -> int:
    """High for who is buying and for customers of the shop's own."""
    match = request.resolver_match
    page = PAGE_TYPE_BY_URL_NAME.get(match.url_name or "") if match else None
    buying = page is not None and page.name.startswith("Tr-")
    user: Any = getattr(request, "user", None)
    return HIGH if buying or (user is not None and user.is_authenticated) else LOW


banners = Banners(
    AdServer(settings.ADS_PORT) if settings.ADS_PORT else None,
    Patience(),
)
