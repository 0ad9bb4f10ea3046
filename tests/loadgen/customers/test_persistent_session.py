"""One session of the partly-open model in a small shop over TLS."""

import ssl
from contextlib import contextmanager

import pytest

from loadgen.customers.connection import ShopAddress
from loadgen.customers.persistent_session import PersistentSession
from loadgen.customers.shop_pages import Shopper
from loadgen.records.attempts import Attempt
from loadgen.records.connection_log import OpenedConnection
from loadgen.schedule import RunClock
from loadgen.workload.partly_open import Partly, PartlyOpenModel
from tests import certificate
from tests.fake_shop.pages import small_shop
from tests.waiting import until

pytestmark = certificate.needs_openssl

SEED = 1
PATIENT_S = 1e5
"""Paper seconds, 100 real ones at 1000 a second: no session leaves because this machine is slow."""

BUYER = PartlyOpenModel(
    interactions_mean=16, interactions_most=16, think_time_mean_s=1, timeout_s=PATIENT_S,
    transactions_ratio=4 / 7,
)  # fmt: skip
"""Two purchases and the beginning of a third."""

BROWSER = PartlyOpenModel(
    interactions_mean=4, interactions_most=4, think_time_mean_s=0, timeout_s=PATIENT_S,
    images_mean=2, transactions_ratio=0,
)  # fmt: skip
"""Br-1, Br-2 or Br-3, Br-4, Br-1."""


@contextmanager
def _shop(made, manner=None):
    context = made.for_server()
    context.num_tickets = 2
    with small_shop(manner, tls=context) as shop:
        yield shop, ShopAddress.from_url(shop.url, made.chain)


class _Played:
    """A session after its end: its rows, connections, and whether all of it came."""

    def __init__(self, address, model, time_scale=1000, stop_s=None):
        self.rows: list[Attempt] = []
        self.connections: list[OpenedConnection] = []
        sessions = Partly(model, SEED)
        session = PersistentSession(
            0,
            sessions,
            Shopper(SEED, 0, "customer-%04d", "word"),
            address,
            RunClock(time_scale),
            lambda attempt, request, fetched: self.rows.append(attempt),
            self.connections.append,
        )
        self.pages = sessions.pages(0)
        self.whole = session.run(0.0, stop_s)

    @property
    def kinds(self):
        return [connection.kind for connection in self.connections]

    def told(self):
        return [(row.step, row.page, row.attempt, row.outcome) for row in self.rows]


def test_pages_and_their_covers_come_over_one_connection(made):
    with _shop(made) as (shop, address):
        played = _Played(address, BROWSER)
        asked = [(seen.page, seen.connection) for seen in shop.requests]
    assert played.whole
    assert played.kinds == ["new"]
    search = played.pages[1]
    # The small shop's home page and its book show no cover, its lists show three.
    assert played.told() == [
        (0, "Br-1", 1, "completed"),
        (1, search, 1, "completed"),
        (1, "image", 1, "completed"),
        (1, "image", 1, "completed"),
        (2, "Br-4", 1, "completed"),
        (3, "Br-1", 1, "completed"),
    ]
    pages = ["file" if page == "image" else page for _, page, _, _ in played.told()]
    assert asked == [(page, 1) for page in pages]
    assert [seen.path for seen in shop.requests if seen.page == "file"] == [
        "/covers/17.svg", "/covers/97.svg",
    ]  # fmt: skip
    connection = played.connections[0]
    assert connection.session == 0
    assert connection.opened_s >= 0
    assert connection.handshake_s > 0
    # What comes next is due when what came before has ended.
    for before, after in zip(played.rows, played.rows[1:], strict=False):
        assert after.intended_s == before.finished_s


def test_covers_are_asked_for_again_where_a_page_shows_too_few(made):
    model = PartlyOpenModel(2, 2, 0, PATIENT_S, images_mean=4, transactions_ratio=0)
    with _shop(made) as (shop, address):
        assert _Played(address, model).whole
        covers = [seen.path for seen in shop.requests if seen.page == "file"]
    assert covers == [f"/covers/{book}.svg" for book in (17, 97, 4309, 17)]


def test_a_session_buys_and_begins_anew(made):
    with _shop(made) as (shop, address):
        played = _Played(address, BUYER)
        # The small shop's key is the connection's, so that its second order has the same.
        confirmed = [seen for seen in shop.requests if seen.page == "Tr-4"]
    assert played.whole
    assert len(confirmed) == 2
    asked = tuple(row.page for row in played.rows if row.page != "image")
    assert asked == played.pages
    assert {row.outcome for row in played.rows} == {"completed"}


def test_a_refused_session_asks_for_nothing_more(made):
    with _shop(made) as (shop, address):
        assert shop.tls is not None
        shop.tls.sni_callback = lambda sock, name, _: ssl.ALERT_DESCRIPTION_ACCESS_DENIED
        played = _Played(address, BROWSER)
        assert shop.requests == []
    assert not played.whole
    assert played.kinds == ["refused"]
    assert played.told() == [
        (0, "Br-1", 1, "refused"),
        *((step, played.pages[step], 0, "not_generated") for step in (1, 2, 3)),
    ]


IMPATIENT = PartlyOpenModel(3, 3, 0, 1.0, reconnects=100, images_mean=1, transactions_ratio=0)
"""At a time scale of 1 a page that hangs is left after a second. A page that this machine delays
for longer is requested again until it comes."""


def _hanging_once(page):
    """Return a shop's behaviour: the first request for a page of this type hangs."""
    manners = iter(["hang"])
    return lambda seen: next(manners, "page") if seen.page == page else "page"


@pytest.mark.parametrize("what", ["page", "image"])
def test_after_a_timeout_the_session_reconnects_and_asks_again(made, what):
    page = "image" if what == "image" else Partly(IMPATIENT, SEED).pages(0)[1]
    manner = _hanging_once("file" if page == "image" else page)
    with _shop(made, manner) as (shop, address):
        played = _Played(address, IMPATIENT, time_scale=1)
        asked_for = "file" if page == "image" else page
        asked = [seen for seen in shop.requests if seen.page == asked_for]
    assert played.whole
    assert played.kinds[0] == "new"
    assert "resumed" in played.kinds
    left, *more = [row for row in played.rows if (row.step, row.page) == (1, page)]
    assert (left.attempt, left.outcome) == (1, "timed_out")
    assert [row.attempt for row in more] == list(range(2, len(more) + 2))
    assert more[-1].outcome == "completed"
    assert left.started_s is not None
    assert more[0].intended_s == left.started_s + IMPATIENT.timeout_s
    assert len({seen.connection for seen in asked}) == len(asked) >= 2
    assert len({seen.path for seen in asked}) == 1, "the same again"


@pytest.mark.parametrize("reconnects", [0, 1])
def test_a_session_that_times_out_once_too_often_ends(made, reconnects):
    model = PartlyOpenModel(3, 3, 0, 0.3, reconnects, 0, 0)
    with _shop(made, lambda seen: "hang") as (shop, address):
        played = _Played(address, model, time_scale=1)
        assert shop.connections <= reconnects + 1
    assert not played.whole
    assert played.told() == [
        *((0, "Br-1", attempt, "timed_out") for attempt in range(1, reconnects + 2)),
        *((step, played.pages[step], 0, "not_generated") for step in (1, 2)),
    ]
    assert len(played.kinds) == reconnects + 1


def test_a_connection_closed_while_thinking_is_resumed(made):
    model = PartlyOpenModel(3, 3, 300, PATIENT_S, images_mean=0, transactions_ratio=0)
    with _shop(made, lambda seen: "page then close") as (shop, address):
        played = _Played(address, model)
        assert shop.connections == 3
    assert played.whole
    assert played.kinds == ["new", "resumed", "resumed"]


def test_a_request_that_met_the_close_of_an_idle_connection_is_asked_again(made):
    manners = iter(["page", "close", "page", "close", "page", "page"])
    model = PartlyOpenModel(3, 3, 0, PATIENT_S, 0, 0, 0)
    with _shop(made, lambda seen: next(manners)) as (_, address):
        played = _Played(address, model)
    assert played.whole, "which is no timeout, for there are no reconnects"
    assert [(step, attempt, outcome) for step, _, attempt, outcome in played.told()] == [
        (0, 1, "completed"),
        (1, 1, "failed"),
        (1, 2, "completed"),
        (2, 1, "failed"),
        (2, 2, "completed"),
    ]
    assert played.kinds == ["new", "resumed", "resumed"]


def test_a_connection_that_is_lost_at_once_ends_the_session(made):
    with _shop(made, lambda seen: "close") as (_, address):
        played = _Played(address, BROWSER)
    assert not played.whole
    assert [row.outcome for row in played.rows] == ["failed", *["not_generated"] * 3]


@pytest.mark.parametrize("manner", ["error", "drop", "reject", "wrong page"])
def test_what_is_no_page_ends_the_session(made, manner):
    manners = iter(["page", manner])
    with _shop(made, lambda seen: next(manners)) as (_, address):
        played = _Played(address, PartlyOpenModel(3, 3, 0, PATIENT_S, 1, 0, 0))
    assert not played.whole
    assert [row.step for row in played.rows] == [0, 1, 2]
    assert played.rows[1].outcome in ("failed", "dropped", "rejected")
    assert played.rows[2].outcome == "not_generated"


def _expect_cut(played, completed):
    """Assert that `completed` pages came, or fewer if this machine stood still, and no others."""
    outcomes = [row.outcome for row in played.rows]
    assert not played.whole
    assert [row.step for row in played.rows] == [0, 1, 2]
    assert outcomes[completed:] == ["not_generated"] * (3 - completed)
    assert set(outcomes[:completed]) <= {"completed", "not_generated"}


def test_the_stop_cuts_off_a_page_which_then_was_not_generated(made):
    slow = Partly(IMPATIENT, SEED).pages(0)[1]
    manner = lambda seen: "hang" if seen.page == slow else "page"  # noqa: E731
    with _shop(made, manner) as (shop, address):
        played = _Played(address, PartlyOpenModel(3, 3, 0, 1000, 1, 0, 0), 1, stop_s=1.0)
        _expect_cut(played, completed=1)
        # The session is still there: only the close of its connection can tell the server.
        assert until(
            lambda: all(seen.left is not None for seen in shop.requests if seen.page == slow)
        )


def test_the_stop_cuts_off_a_pause(made):
    with _shop(made) as (_, address):
        played = _Played(address, PartlyOpenModel(3, 3, 1e9, 1000, 1, 0, 0), 1, stop_s=1.0)
    _expect_cut(played, completed=1)


def test_a_page_that_had_timed_out_is_not_told_twice(made):
    with _shop(made, lambda seen: "hang") as (_, address):
        played = _Played(address, PartlyOpenModel(2, 2, 0, 0.2, 99, 0, 0), 1, stop_s=1.0)
    steps = {"timed_out": {0}, "not_generated": {0, 1}}
    assert all(row.step in steps[row.outcome] for row in played.rows)
    first = [row.outcome for row in played.rows if row.step == 0]
    assert first == ["not_generated"] or set(first) == {"timed_out"}
    assert played.rows[-1].step == 1


def test_a_session_begun_after_the_stop_asks_for_nothing(made):
    with _shop(made) as (shop, address):
        played = _Played(address, BROWSER, stop_s=-1.0)
        assert shop.requests == []
    assert [row.outcome for row in played.rows] == ["not_generated"] * 4
