"""One client and a real server over real sockets, by a clock that the test controls.

Pages take no time by that clock, so a client's actions and their times follow from the model alone.
"""

import math
from itertools import cycle, pairwise

import pytest

from loadgen.customers.browser import ShopAddress
from loadgen.customers.client import ClientPages, ClientProcess
from loadgen.records.attempts import Attempt
from loadgen.schedule import RunClock
from loadgen.workload.clients import ClientModel, Clients, Turn
from tests.fake_shop.pages import small_shop
from tests.waiting import until

pytestmark = pytest.mark.slow


SEED = 14
CONTROL, TEST = 0, 2
"""A client of either set, with two in each."""

LEAVES_AFTER_S = 1.0
"""Real seconds; enough for sending a request, which must have happened by then."""
PATIENCE_S = 240.0
"""Real seconds in which an awaited page must come."""

MIX = {"home": 3, "search": 1, "file": 2}


class HandClock(RunClock):
    """A clock on which time passes when a greenlet sleeps, or when the test moves it."""

    def __init__(self):
        super().__init__(1.0)
        self.time_s = 0.0
        self.patience_real_s = PATIENCE_S

    def now_s(self):
        return self.time_s

    def real_s(self, paper_s):
        return math.inf if math.isinf(paper_s) else self.patience_real_s

    def sleep_until(self, paper_s):
        self.time_s = max(self.time_s, paper_s)


class ImpatientWith(ClientPages):
    """A client that soon leaves pages of some types, and waits long for others.

    It sends no request before the shop has noticed how the earlier requests ended.
    """

    def __init__(self, clock, pages, all_noticed):
        super().__init__(SEED)
        self._clock = clock
        self._pages = pages
        self._all_noticed = all_noticed

    def request(self, page, client, step):
        self._all_noticed()
        self._clock.patience_real_s = LEAVES_AFTER_S if page in self._pages else PATIENCE_S
        return super().request(page, client, step)


class Played:
    """The actions of one client at one shop."""

    def __init__(self, client, until_s, manner, model=None, leaves=()):
        self.clients = Clients(model or ClientModel(per_set=2, mix=MIX), SEED)
        self.rows: list[Attempt] = []
        self.reasons: list[str] = []
        self.clock = HandClock()
        with small_shop(lambda seen: manner(seen, self.clock)) as shop:
            self.seen = shop.requests
            address = ShopAddress.from_url(shop.url)
            pages = ImpatientWith(self.clock, leaves, self._all_noticed)
            process = ClientProcess(
                client, self.clients, pages, address, self.clock, self._observer
            )
            process.run(until_s)
            self._all_noticed()

    def _all_noticed(self):
        """Wait until the shop has seen every request, and every client that left."""
        left = sum(row.outcome == "timed_out" for row in self.rows)

        def all_seen():
            noticed = sum(one.left is not None for one in self.seen)
            return (len(self.seen), noticed) == (len(self.rows), left)

        until(all_seen, f"the shop saw {len(self.rows)} requests, of which {left} left")

    def _observer(self, attempt, request, fetched):
        assert fetched is not None
        self.rows.append(attempt)
        self.reasons.append(fetched.reason)


def _searches_hang(seen, clock):
    return "hang" if seen.page == "Br-3" else "page"


def _expected(clients, client, until_s, lost):
    """Return step, page, attempt, due time and outcome of all attempts when pages `lost` never
    come."""
    found: list[tuple[object, ...]] = []
    turn: Turn = clients.first(client)
    due_s = turn.pause_s
    while due_s < until_s:
        page = clients.page(client, turn.step)
        left = page == lost
        outcome = "timed_out" if left else "completed"
        found.append((turn.step, page, turn.attempt, due_s, outcome))
        patience_s = clients.patience_s(client, turn.step, turn.attempt) if left else 0.0
        turn = clients.after(client, turn.step, turn.attempt, left)
        due_s = due_s + patience_s + turn.pause_s
    return found


def _told(rows):
    return [(row.step, row.page, row.attempt, row.intended_s, row.outcome) for row in rows]


def test_who_leaves_closes_the_connection_and_reloads_or_goes_away():
    played = Played(TEST, 120.0, _searches_hang, leaves=("Br-3",))
    rows, seen = played.rows, played.seen
    assert _told(rows) == _expected(played.clients, TEST, 120.0, "Br-3")
    # The server saw each of them, in this order, numbered, and every leaving as a closed socket.
    assert [one.page for one in seen] == [row.page for row in rows]
    assert [one.headers["x-doorbuster-attempt"] for one in seen] == [
        str(row.attempt) for row in rows
    ]
    left = [row.outcome == "timed_out" for row in rows]
    assert [one.left is not None for one in seen] == left
    # A new connection after each leaving and no other: whoever stays keeps it alive.
    for nth in range(1, len(seen)):
        assert seen[nth].connection - seen[nth - 1].connection == int(left[nth - 1])
    reloads = [nth for nth, row in enumerate(rows) if row.attempt > 1]
    for nth in reloads:
        assert seen[nth].path == seen[nth - 1].path
        assert rows[nth].step == rows[nth - 1].step
        assert rows[nth].intended_s == rows[nth - 1].started_s + rows[nth - 1].patience_s
    gave_up = [nth for nth, row in enumerate(rows[1:]) if left[nth] and row.attempt == 1]
    for nth in gave_up:
        away_s = played.clients.away_s(TEST, rows[nth].step)
        assert rows[nth + 1].intended_s > rows[nth].finished_s + away_s
    assert len(reloads) >= 3
    assert len(gave_up) >= 2
    # One browser: the cookie of its first page goes with all that follow.
    cookies = {one.headers.get("cookie") for one in seen[left.index(False) + 1 :]}
    assert len(cookies) == 1
    assert None not in cookies


def test_a_client_of_the_control_set_never_leaves():
    def slow(seen, clock):
        clock.time_s += 50  # far longer than any patience of the test set
        return "page"

    played = Played(CONTROL, 1000.0, slow, leaves=("Br-1", "Br-3", "file"))
    assert {(row.outcome, row.patience_s) for row in played.rows} == {("completed", math.inf)}
    assert [row.finished_s for row in played.rows] == [row.started_s + 50 for row in played.rows]
    assert {one.connection for one in played.seen} == {1}
    assert [row.step for row in played.rows] == list(range(len(played.rows)))
    assert len(played.rows) > 15


def test_nobody_begins_when_time_is_up_and_what_is_under_way_is_waited_for():
    def slow_at_the_end(seen, clock):
        if clock.time_s > 80:
            clock.time_s = 130.0
        return "page"

    played = Played(CONTROL, 100.0, slow_at_the_end)
    last = played.rows[-1]
    assert 80 < last.started_s < 100
    assert (last.finished_s, last.outcome) == (130, "completed")
    assert all(row.started_s < 100 for row in played.rows)
    assert len(played.seen) == len(played.rows)


def test_no_reload_is_begun_when_time_is_up():
    model = ClientModel(per_set=2, mix={"search": 1}, reload_probability=1)
    played = Played(TEST, 8.0, _searches_hang, model, leaves=("Br-3",))
    assert {row.step for row in played.rows} == {0}, "it reloads without an end"
    last = played.rows[-1]
    assert last.started_s < 8 <= last.started_s + last.patience_s
    assert played.clients.reloads(TEST, 0, last.attempt)


def test_a_client_whose_turn_comes_late_begins_nothing_after_the_end():
    class Stalled(HandClock):
        def sleep_until(self, paper_s):
            self.time_s = paper_s + 20

    clock, rows = Stalled(), []
    clients = Clients(ClientModel(per_set=2, mix=MIX), SEED)
    with small_shop() as shop:
        ClientProcess(
            CONTROL,
            clients,
            ClientPages(SEED),
            ShopAddress.from_url(shop.url),
            clock,
            lambda attempt, request, fetched: rows.append(attempt),
        ).run(15.0)
        assert shop.requests == []
    assert rows == []


def test_what_fails_or_is_dropped_is_followed_by_the_next_request():
    manners = cycle(("error", "drop", "reject", "cut", "wrong page", "page"))
    played = Played(TEST, 300.0, lambda seen, clock: next(manners))
    rows = played.rows
    assert {row.outcome for row in rows} == {"completed", "failed", "dropped", "rejected"}
    assert [(row.step, row.attempt) for row in rows] == [(step, 1) for step in range(len(rows))]
    for before, row in pairwise(rows):
        think_s = played.clients.think_time_s(TEST, row.step)
        assert row.intended_s == before.finished_s + think_s
    assert "wrong page: the answer is not a cover (an SVG image)" in played.reasons
