"""A client of the Connection Sentry's model (section 4.2), which sends request after request.

The paper's clients replay a trace. Here, each request is drawn independently of the answers, so
that two runs with the same seed send the same requests. The clients have no cache.
"""

from functools import partial
from urllib.parse import urlencode

from common.seeded_shop import SEARCH_WORDS
from common.shared_settings import LEAST_BOOKS
from loadgen.customers.browser import ShopAddress
from loadgen.customers.shop_pages import BOOK_LINK, CATEGORY_LINK, PageRequest, WrongPageError
from loadgen.customers.visitor import AttemptObserver, PlannedAttempt, Visitor, ended_s
from loadgen.records.attempts import AttemptOutcome
from loadgen.schedule import RunClock
from loadgen.workload.clients import Clients, place
from loadgen.workload.draws import stream_key, uniform

CATEGORIES = (
    "literary-fiction",
    "crime",
    "science-fiction",
    "fantasy",
    "romance",
    "historical-fiction",
    "thriller",
    "young-adult",
    "children",
    "poetry",
    "history",
    "biography",
    "popular-science",
    "computing",
    "business",
    "cooking",
    "travel",
    "art-and-design",
    "nature-and-gardening",
    "philosophy",
)
"""The shop's categories, as in their URLs."""

_COVER = b"<svg"


class ClientPages:
    """The requests of all clients for one seed, which do not depend on the shop's answers."""

    def __init__(self, seed: int) -> None:
        self._key = stream_key(seed, "client pages")

    def request(self, page: str, client: int, step: int) -> PageRequest:
        """Return the client's request number `step`, for a page of type `page` (Br-1 to Br-4, or
        `file`). A reload sends the same request again.
        """
        draw = uniform(self._key, place(client, step))
        if page == "Br-1":
            path = "/"
        elif page == "Br-2":
            path = f"/browse/{CATEGORIES[int(draw * len(CATEGORIES))]}/"
        elif page == "Br-3":
            words = SEARCH_WORDS[int(draw * len(SEARCH_WORDS))]
            path = "/search/?" + urlencode({"q": words})
        else:
            book = 1 + int(draw * LEAST_BOOKS)  # in every catalogue, ids begin at 1
            path = f"/books/{book}/" if page == "Br-4" else f"/covers/{book}.svg"
        return PageRequest("GET", path)


def judge_cover(body: bytes) -> None:
    if not body.lstrip().startswith(_COVER):
        raise WrongPageError("the answer is not a cover (an SVG image)")


def judge(page: str, body: bytes) -> None:
    """Raise `WrongPageError` if `body` cannot be a page of type `page`."""
    if page == "file":
        judge_cover(body)
    elif page in ("Br-1", "Br-4"):
        if not CATEGORY_LINK.search(body):
            raise WrongPageError("no category to browse")
    elif not BOOK_LINK.search(body):
        raise WrongPageError("no book on the page")


class ClientProcess:
    """The client with a given number; `run` plays it in the calling greenlet.

    The client keeps its cookies. Its connection ends when the client leaves or the server closes
    the connection.
    """

    def __init__(
        self,
        client: int,
        clients: Clients,
        pages: ClientPages,
        address: ShopAddress,
        clock: RunClock,
        observer: AttemptObserver,
    ) -> None:
        self._client = client
        self._clients = clients
        self._pages = pages
        self._visitor = Visitor(client, address, clock, observer)
        self._clock = clock

    def run(self, until_s: float) -> None:
        """Send requests until `until_s` paper seconds after the run's start.

        A request in progress at that time continues until it is answered or the patience ends. The
        client does not reload it.
        """
        turn = self._clients.first(self._client)
        due_s = turn.pause_s
        try:
            while self._begins(due_s, until_s):
                page = self._clients.page(self._client, turn.step)
                patience_s = self._clients.patience_s(self._client, turn.step, turn.attempt)
                attempt = self._visitor.ask(
                    PlannedAttempt(turn.step, page, turn.attempt, due_s, patience_s),
                    self._pages.request(page, self._client, turn.step),
                    partial(judge, page),
                )
                left = attempt.outcome == AttemptOutcome.TIMED_OUT
                turn = self._clients.after(self._client, turn.step, turn.attempt, left)
                due_s = ended_s(attempt) + turn.pause_s
        finally:
            self._visitor.leave()

    def _begins(self, due_s: float, until_s: float) -> bool:
        self._clock.sleep_until(min(due_s, until_s))
        return due_s < until_s and self._clock.now_s() < until_s
