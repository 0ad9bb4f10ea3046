"""DAGOR: the level falls and rises by the shares of Algorithm 1; later pages have precedence."""

from gateway.policies.dagor import USERS
from gateway.policies.interface import PAGES, Request
from gateway.policies.registry import create

EVERYBODY = len(PAGES) * USERS - 1


class Rush:
    """Windows of 1,000 requests of 1,000 sessions, evenly over all pages."""

    def __init__(self):
        self.policy = create("dagor", {})
        self.ids = 0
        self.time_s = 0.0

    def window(self, queued_s):
        """Return the admitted requests by page, when each waits `queued_s`."""
        came_in = dict.fromkeys(PAGES, 0)
        for number in range(1000):
            self.ids += 1
            page = PAGES[number % len(PAGES)]
            request = Request(self.ids, page, self.time_s, f"session {number}")
            if not self.policy.arrival(self.time_s, request):
                came_in[page] += 1
                self.policy.workers_free(self.time_s + queued_s, 1)
        self.time_s += 1.0
        return came_in

    @property
    def level(self):
        return self.policy.snapshot()["level"]


def test_everybody_comes_in_while_requests_hardly_queue():
    rush = Rush()
    for _ in range(5):
        assert sum(rush.window(queued_s=0.01).values()) == 1000
    assert rush.level == EVERYBODY


def test_overloaded_a_share_fewer_come_in_each_window_and_the_first_pages_go_first():
    rush = Rush()
    rush.window(queued_s=0.03)
    came_in = rush.window(queued_s=0.03)
    assert 935 <= sum(came_in.values()) <= 950  # 5 % fewer, and what shares the last level
    assert all(came_in[page] == 125 for page in PAGES[1:])
    again = rush.window(queued_s=0.03)
    assert 885 <= sum(again.values()) <= 0.95 * sum(came_in.values()) + 1


def test_it_rises_by_a_share_of_all_when_it_is_over():
    rush = Rush()
    for _ in range(20):
        rush.window(queued_s=0.03)
    low = sum(rush.window(queued_s=0.0).values())
    rush.window(queued_s=0.0)
    higher = sum(rush.window(queued_s=0.0).values())
    assert low + 2 * 10 <= higher + 1 <= low + 2 * 10 + 12
    for _ in range(100):
        rush.window(queued_s=0.0)
    assert rush.level == EVERYBODY


def test_a_server_that_serves_nobody_is_overloaded():
    policy = create("dagor", {"window_s": 0.1})
    for number in range(30):  # no worker is ever free
        policy.arrival(number / 20, Request(number, "Br-1", number / 20, f"session {number}"))
    assert policy.snapshot()["level"] < EVERYBODY


def test_a_session_keeps_its_place_for_an_hour():
    rush = Rush()
    for _ in range(12):
        rush.window(queued_s=0.03)
    policy, who = rush.policy, [f"session {number}" for number in range(200)]

    def let_in(time_s):
        found = []
        for session in who:
            rush.ids += 1
            # the level stays within a window
            found.append(not policy.arrival(time_s, Request(rush.ids, "Br-1", time_s, session)))
        return found

    at_s = rush.time_s
    first = let_in(at_s)
    assert first == let_in(at_s + 0.5)
