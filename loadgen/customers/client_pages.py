"""The requests of a client of the Connection Sentry's model, and the check of their answers.

The paper's clients replay a trace. Here, each request is drawn independently of the answers, so
that two runs with the same seed send the same requests. The clients have no cache.
"""

from urllib.parse import urlencode

from common.seeded_shop import SEARCH_WORDS
from common.shared_settings import LEAST_BOOKS
from loadgen.customers.shop_pages import (
    BOOK_LINK,
    CATEGORY_LINK,
    PageRequest,
    WrongPageError,
)
from loadgen.workload.clients import place
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
