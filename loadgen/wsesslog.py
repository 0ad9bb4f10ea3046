"""The sessions as a file for `--wsesslog` of httperf, the paper's load generator.

httperf does not read the pages, so it cannot post a CSRF token and requests transaction pages with
GET. httperf puts load on the shop, but places no orders. Its timeouts come from httperf's options,
not from the session model.
"""

from collections.abc import Iterator

from loadgen.customers.browser import Browser, ShopAddress
from loadgen.customers.shop_pages import CHECKOUT, Shopper, WrongPageError
from loadgen.workload.sessions import Customers, SessionModel

_LOOK_FOR_S = 30.0


class ShopUnreadableError(Exception):
    """The error for a shop that does not answer or shows no categories or books."""


def session_file(host: str, sessions: int, seed: int) -> Iterator[str]:
    """Yield the file's lines: a comment, a line for each request, and an empty line after each
    session.

    Raises `HostError` for an unusable address, and `ShopUnreadableError` if the shop does not
    answer or shows no categories or books.
    """
    customers = Customers(SessionModel(), seed, session_rate=1.0)
    sample = _Sample(host)
    yield f"# {sessions} sessions of LIFO-Pri's chain, seed {seed}, for httperf --wsesslog"
    for session in range(sessions):
        shopper = sample.shopper(seed, session)
        for page in customers.walk(session):
            yield CHECKOUT[page] if page in CHECKOUT else shopper.request(page).path
        yield ""


class _Sample:
    """The pages of the shop that supply URLs: the home page and the page of one category."""

    def __init__(self, host: str) -> None:
        browser = Browser(ShopAddress.from_url(host))
        try:
            self._main = _page(browser, host, "/")
            shopper = Shopper(0, 0, "%d", "")
            try:
                shopper.read("Br-1", self._main, "Br-2")
                path = shopper.request("Br-2").path
                self._category = _page(browser, host, path)
                shopper.read("Br-2", self._category, "Br-4")
            except WrongPageError as error:
                raise ShopUnreadableError(f"{host} is not the shop: {error}") from None
        finally:
            browser.close()

    def shopper(self, seed: int, session: int) -> Shopper:
        shopper = Shopper(seed, session, "%d", "")
        shopper.read("Br-1", self._main, "Br-2")
        shopper.read("Br-2", self._category, "Br-4")
        return shopper


def _page(browser: Browser, host: str, path: str) -> bytes:
    fetched = browser.fetch("GET", path, None, 1, _LOOK_FOR_S)
    if not fetched.body:
        reason = fetched.reason or fetched.outcome.value
        raise ShopUnreadableError(f"{host}{path} returned no page ({reason}); is the shop running?")
    return fetched.body
