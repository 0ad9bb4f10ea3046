"""Deliveries survive kill -9: reports stay, and at most a block of a banner is repeated."""

import http.client
import os
import signal
import socket
import threading
import time
from urllib.parse import urlencode, urlsplit

import psutil
import pytest

from tests.shop.ads.conftest import rows, served
from tests.waiting import until

pytestmark = pytest.mark.slow


BLOCK = 10
EMPTY_S = 2.0
CLIENTS = 4
PATH = "/ads/select?slots=4&size=728x90&concepts=travel,history&priority={}"
PUBLISHER, PAGE, SLOTS = "Kill & Sons", "Under load", 4
ON_PAGE = urlencode({"publisher": PUBLISHER, "page": PAGE})


class Customers:
    """Threads that request banners until the server is gone, and keep the banners they
    were shown."""

    def __init__(self, ads):
        self.shown: dict[int, int] = {}
        self.asked: dict[int, int] = {}
        self._ads = ads
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, number):
        while not self._over.is_set():
            try:
                answer = self._ads.get(PATH.format(number % 2) + "&" + ON_PAGE)
                if answer.status != 200:  # it is too busy, and shows nothing
                    continue
                placed = answer.json["banners"]
            except (OSError, ValueError, http.client.HTTPException):
                continue  # the process is dead, or the next one not there yet
            with self._lock:
                for banner in placed:
                    self.shown[banner["id"]] = self.shown.get(banner["id"], 0) + 1

    def total(self):
        with self._lock:
            return sum(self.shown.values())

    def leave(self):
        self._over.set()
        for thread in self._threads:
            thread.join()


def counts(environment):
    """Return the counts of the size that only these tests use: other servers may be reporting."""
    return dict(
        rows(
            environment,
            "SELECT banner_id, delivered FROM ads_delivery "
            "JOIN ads_banner ON ads_banner.id = banner_id WHERE size = '728x90'",
        )
    )


@pytest.fixture
def page(ads_environment):
    """Return a publisher's page of this test, and the function that reads its counts."""
    [(publisher,)] = rows(
        ads_environment, "INSERT INTO ads_publisher (name) VALUES (%s) RETURNING id", PUBLISHER
    )
    [(id,)] = rows(
        ads_environment,
        "INSERT INTO ads_page (publisher_id, name, views_per_day) VALUES (%s, %s, 0) RETURNING id",
        publisher, PAGE,
    )  # fmt: skip
    rows(
        ads_environment,
        "INSERT INTO ads_slot (page_id, name, size) "
        "SELECT %s, number, '728x90' FROM generate_series(1, %s) AS number",
        id, SLOTS,
    )  # fmt: skip

    def counted():
        found = "SELECT impressions FROM ads_placement WHERE page_id = %s"
        return sum(impressions for (impressions,) in rows(ads_environment, found, id))

    yield counted
    rows(ads_environment, "DELETE FROM ads_placement WHERE page_id = %s", id)
    rows(ads_environment, "DELETE FROM ads_slot WHERE page_id = %s", id)
    rows(ads_environment, "DELETE FROM ads_page WHERE id = %s", id)
    rows(ads_environment, "DELETE FROM ads_publisher WHERE id = %s", publisher)


def worker_of(process):
    [worker] = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if not child.children() and "gunicorn" in " ".join(child.cmdline())
    ]
    return worker


def test_kill_9_under_load_repeats_a_block_at_most_and_doubles_nothing(
    ads_environment, page, tmp_path
):
    before = counts(ads_environment)
    kills = 3
    with served(ads_environment, tmp_path / "ads.log", flush_s=0.2, block=BLOCK) as ads:
        customers = Customers(ads)
        try:
            for _ in range(kills):
                seen = customers.total()
                until(lambda seen=seen: customers.total() > seen + 100, "banners shown")
                dead = worker_of(ads.process)
                os.kill(dead.pid, signal.SIGKILL)
                until(lambda dead=dead: not dead.is_running(), "the process gone")
            seen = customers.total()
            until(lambda seen=seen: customers.total() > seen + 100, "banners shown again")
        finally:
            customers.leave()
        shown = dict(customers.shown)
    # The last process was stopped in an orderly way and has reported everything.
    after = counts(ads_environment)
    for banner in after:
        counted = after[banner] - before[banner]
        was_shown = shown.get(banner, 0)
        # Lost with a process: at most a block. Counted without being seen: an answer that was
        # under way when the process died, one per customer and kill.
        assert was_shown - kills * BLOCK <= counted <= was_shown + kills * CLIENTS
    assert sum(after.values()) > sum(before.values())
    # All of it was on one page: the page lost what its banners lost, and nothing else.
    assert page() == sum(after.values()) - sum(before.values())


def test_a_killed_master_leaves_its_port_at_once_and_nothing_unreported(
    ads_environment, page, tmp_path
):
    """Its worker ends with it under load, after a last report, so that the next one can listen."""
    before = sum(counts(ads_environment).values())
    with served(ads_environment, tmp_path / "ads.log", flush_s=60) as ads:
        customers = Customers(ads)
        try:
            until(lambda: customers.total() > 200, "banners shown")
            worker = worker_of(ads.process)
            ads.process.kill()
            ads.process.wait(10)
            worker.wait(2)  # about 0.1 s; a worker that serves on does so for seconds
        finally:
            customers.leave()
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the next does
            listener.bind(("127.0.0.1", urlsplit(ads.url).port))
    counted = sum(counts(ads_environment).values()) - before
    # Counted without being seen: answers that were under way.
    assert customers.total() <= counted <= customers.total() + 4 * CLIENTS


def test_several_processes_keep_to_the_bound(ads_environment, tmp_path):
    """All processes deliver contracts of a few impressions at once."""
    processes = 3
    # A renewal would add impressions and time, so that no contract becomes complete.
    rows(
        ads_environment,
        """
        UPDATE ads_contract SET starts = now() - interval '1000 days',
               ends = now() + interval '1 day', impressions = 30, renews = FALSE
        FROM ads_banner WHERE ads_banner.id = banner_id AND size = '160x600'
        """,
    )
    rows(
        ads_environment,
        "UPDATE ads_delivery SET delivered = 0 FROM ads_banner "
        "WHERE ads_banner.id = banner_id AND size = '160x600'",
    )
    path = "/ads/select?slots=8&size=160x600&concepts=poetry"
    with served(
        ads_environment, tmp_path / "ads.log", flush_s=0.5, block=BLOCK, processes=processes
    ) as ads:

        def ask():
            """Ask until no banner has come for as long as several reports to PostgreSQL take."""
            until_s = time.monotonic() + EMPTY_S
            while time.monotonic() < until_s:
                if ads.get(path).json["banners"]:
                    until_s = time.monotonic() + EMPTY_S
                else:
                    time.sleep(0.02)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    over = rows(
        ads_environment,
        "SELECT max(delivered - impressions), count(*) FILTER (WHERE delivered >= impressions) "
        "FROM ads_delivery JOIN ads_contract USING (banner_id) "
        "JOIN ads_banner ON ads_banner.id = banner_id WHERE size = '160x600'",
    )
    [(worst, complete)] = over
    assert complete > 0
    assert worst <= processes * BLOCK - 1
