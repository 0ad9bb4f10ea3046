"""The banner of a page: the call to the ad server, and the pauses after failed calls.

A banner delays a page by at most `ad_server.DEADLINE_S` real seconds. If the call fails, the page's
slot remains empty.
"""

import json
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest

from common.http_api import CallError
from common.page_types import PageType
from shop.ad_server import AdServer, Failed, Refused
from shop.catalogue.shelves import SHELVES
from shop.page_types import PAGE_TYPE_BY_URL_NAME, PUBLISHER, SIZES

FAILURES_IN_A_ROW = 3
PAUSE_S = 1.0  # after the pause, one page tries again
MOST_CONCEPTS = 10  # the same number as in the ad server's paper
LOW, HIGH = 0, 1  # priorities

_logger = logging.getLogger(__name__)
_IMAGE = re.compile(r"/ads/banner/[0-9]{1,18}\.svg")
_CLICK = re.compile(r"/ads/click/[0-9]{1,18}(\?page=[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Banner:
    """A banner on a page: the paths of its picture and its click, its size in pixels, its text."""

    image: str
    click: str
    width: int
    height: int
    alt: str


def read(body: bytes) -> Banner | None:
    """Return the banner in this answer of the ad server, or None if the answer has no banner.

    Raises Failed if the answer is invalid.
    """
    try:
        placed = json.loads(body)["banners"]
        if placed == []:
            return None
        [only] = placed
        banner = Banner(**{name: only[name] for name in Banner.__slots__})
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Failed(f"the answer has no valid list of banners: {error!r}") from error
    texts = (banner.image, banner.click, banner.alt)
    if not all(isinstance(text, str) for text in texts) or not banner.alt:
        raise Failed("image, click and alt must be text")
    if not (_IMAGE.fullmatch(banner.image) and _CLICK.fullmatch(banner.click)):
        raise Failed("image and click must be addresses of the ad server")
    if f"{banner.width}x{banner.height}" not in SIZES.values():
        raise Failed("width and height must equal the size of a slot")
    return banner


class Patience:
    """The limit on calls of a failing ad server: after FAILURES_IN_A_ROW failures, only one page
    per PAUSE_S may call it. The class is thread-safe.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._asks_again_s = 0.0

    def may_ask(self) -> bool:
        if self._failures < FAILURES_IN_A_ROW:
            return True
        with self._lock:
            now_s = self._clock()
            if now_s < self._asks_again_s:
                return False
            self._asks_again_s = now_s + PAUSE_S
            return True

    def answered(self) -> bool:
        """Record a valid answer; return True if it ends the limit on calls."""
        with self._lock:
            given_up = self._failures >= FAILURES_IN_A_ROW
            self._failures = 0
            return given_up

    def failed(self) -> bool:
        """Record a failed call; return True if it begins the limit on calls."""
        with self._lock:
            self._failures += 1
            self._asks_again_s = self._clock() + PAUSE_S
            return self._failures == FAILURES_IN_A_ROW


class Banners:
    """The banners of this shop's pages. They are off if the shop has no ad server, or if the
    controller has switched them off.
    """

    def __init__(self, server: AdServer | None, patience: Patience) -> None:
        self.wanted = server is not None
        self._server = server
        self._patience = patience

    def want(self, wanted: bool) -> None:
        """Switch banners on or off.

        Raises CallError if banners are wanted but the shop has no ad server.
        """
        if wanted and self._server is None:
            allowed = "false, because this shop has no ad server (DOORBUSTER_ADS_PORT is not set)"
            raise CallError(f"ads: must be {allowed}", "ads", allowed)
        self.wanted = wanted

    def choose(
        self, size: str, concepts: Iterable[str], priority: int, page: PageType | None = None
    ) -> Banner | None:
        """Return a banner of this size for at most MOST_CONCEPTS of these concepts, or None, for
        example if the ad server fails.

        The ad server counts the impression for `page`, or for no page if `page` is None.
        """
        if self._server is None or not self._patience.may_ask():
            return None
        query = {
            "slots": 1,
            "size": size,
            "concepts": ",".join(_some(concepts)),
            "priority": priority,
            **({} if page is None else {"publisher": PUBLISHER, "page": page.name}),
        }
        try:
            banner = read(self._server.get("/ads/select?" + urlencode(query, safe=",")))
        except Refused as refused:
            _logger.debug("No banner: %s", refused)
            banner = None
        except Failed as failure:
            if self._patience.failed():
                _logger.warning("Pages have no banners, because the ad server failed: %s", failure)
            return None
        if self._patience.answered():
            _logger.warning("Pages have banners again")
        return banner


def _some(concepts: Iterable[str]) -> list[str]:
    """Return up to MOST_CONCEPTS different concepts; without concepts, return random shelves."""
    given = list(dict.fromkeys(concepts))
    if not given:
        given = random.sample([shelf.slug for shelf in SHELVES], MOST_CONCEPTS)
    return given[:MOST_CONCEPTS]


class Slot:
    """The slot for a banner on one page.

    When the page's template reads `banner`, the slot calls `concepts` and the ad server. `concepts`
    returns the shelves of the page's books; by default, the ad server gets random shelves.
    """

    def __init__(
        self, request: HttpRequest, concepts: Callable[[], Iterable[str]] = lambda: ()
    ) -> None:
        self._request = request
        self._concepts = concepts

    @property
    def wanted(self) -> bool:
        return banners.wanted

    @cached_property
    def banner(self) -> Banner | None:
        page = _page_type(self._request)
        priority = _priority(self._request, page)
        return banners.choose(self.size, self._concepts(), priority, page)

    @property
    def size(self) -> str:
        """The slot's size in pixels, for example `728x90`."""
        return SIZES[self.device]

    @property
    def device(self) -> str:
        """`phone` for a browser that identifies itself as mobile, otherwise `desk`."""
        return "phone" if "Mobi" in self._request.headers.get("User-Agent", "") else "desk"


def _page_type(request: HttpRequest) -> PageType | None:
    match = request.resolver_match
    return PAGE_TYPE_BY_URL_NAME.get(match.url_name or "") if match else None


def _priority(request: HttpRequest, page: PageType | None) -> int:
    """Return HIGH for customers who are buying or signed in, otherwise LOW."""
    buying = page is not None and page.name.startswith("Tr-")
    user: Any = getattr(request, "user", None)
    return HIGH if buying or (user is not None and user.is_authenticated) else LOW


banners = Banners(
    AdServer(settings.ADS_PORT, host=settings.ADS_HOST) if settings.ADS_PORT else None,
    Patience(),
)
