"""Page work: draws, carrying over, spending; and that the CPU is really burnt."""

import threading
import time
from statistics import fmean

import pytest
from django.core.cache import cache

from common.page_types import BUSY_RATIO, PAGE_TYPES
from shop import activity, sentry
from shop.activity import PageCount
from shop.middleware import PageWorkMiddleware
from shop.page_costs import page_work
from shop.page_costs.page_work import (
    CPU_INTENSIVE_S,
    UNLEARNT_WAIT_S,
    Budget,
    IdleWaits,
    PageWork,
    PageWorkSettings,
    Share,
    Stopwatch,
    whole_milliseconds,
)

MAIN = PAGE_TYPES[0]


@pytest.mark.parametrize("profile", ["paper", "cpu"])
@pytest.mark.parametrize("page", PAGE_TYPES, ids=lambda page: page.name)
def test_draws_are_uniform_around_the_scaled_mean(page, profile):
    """The CPU-intensive page is the same for all types, and never waits."""
    budget = Budget(PageWorkSettings(profile=profile, time_scale=4))
    draws = [budget.draw(page) for _ in range(20_000)]
    mean_s, busy_ratio = page.mean_execution_s / 4, BUSY_RATIO
    if profile == "cpu":
        mean_s, busy_ratio = CPU_INTENSIVE_S / 4, 1.0
    totals = [draw.busy_s + draw.waiting_s for draw in draws]
    assert fmean(totals) == pytest.approx(mean_s, rel=0.01)
    assert min(totals) == pytest.approx(mean_s * 0.5, rel=0.01)
    assert max(totals) == pytest.approx(mean_s * 1.5, rel=0.01)
    assert fmean(d.busy_s for d in draws) == pytest.approx(busy_ratio * mean_s, rel=0.01)


def test_the_same_seed_draws_the_same():
    def draws(seed):
        budget = Budget(PageWorkSettings(seed=seed))
        return [budget.draw(page) for page in PAGE_TYPES]

    assert draws(7) == draws(7) != draws(8)


def test_excess_is_carried_over_once_and_per_page_type():
    budget = Budget(PageWorkSettings())
    budget.settle(MAIN, Share(0.010, 0.004), Share(0.013, 0.003))
    assert budget.take_over(PAGE_TYPES[1]) == Share(0.0, 0.0)
    over = budget.take_over(MAIN)
    assert over.busy_s == pytest.approx(0.003)
    assert over.waiting_s == pytest.approx(-0.001)
    assert budget.take_over(MAIN) == Share(0.0, 0.0)


@pytest.mark.parametrize(
    ("duration_s", "whole_s"), [(-1.0, 0), (0.0004, 0), (0.0016, 0.002), (0.0144, 0.014)]
)
def test_waits_are_whole_milliseconds(duration_s, whole_s):
    assert whole_milliseconds(duration_s) == pytest.approx(whole_s)


class FakeWork:
    """The CPU and waiting of one request on clocks that only this test moves."""

    def __init__(self, monkeypatch, own_cpu_s, own_wait_s=0.0):
        self.cpu_s = own_cpu_s
        self.wall_s = own_cpu_s + own_wait_s
        self.waited_s = own_wait_s
        self.queries = 1
        self.order = []
        monkeypatch.setattr(page_work, "burn", self.burn)
        monkeypatch.setattr(page_work, "wait", self.wait)

    def burn(self, stopwatch, until_cpu_s):
        assert stopwatch is self
        if until_cpu_s > self.cpu_s:
            self.order.append("busy")
            self.wall_s += until_cpu_s - self.cpu_s
            self.cpu_s = until_cpu_s

    def wait(self, duration_s):
        self.order.append("wait")
        self.wall_s += duration_s
        return duration_s


def test_busy_and_waiting_periods_are_interleaved(monkeypatch):
    work, count = PageWork(), PageCount()
    fake = FakeWork(monkeypatch, own_cpu_s=0.003)
    work.complete(PAGE_TYPES[6], fake, count, alone=True)
    assert fake.order == ["busy", "wait"] * 4


def test_the_mean_holds_whatever_the_page_itself_costs(monkeypatch):
    """It holds even when some pages cost more than their draw, as Br-1 at 9 ms of 7.1
    to 21.4 ms."""
    work, count = PageWork(), PageCount()
    for i in range(4_000):
        work.complete(
            MAIN, FakeWork(monkeypatch, 0.004 if i % 2 else 0.009, 0.0013), count, alone=True
        )
    assert count.served == 4_000
    assert count.cpu_s / count.drawn_s == pytest.approx(BUSY_RATIO, rel=0.002)
    assert count.execution_s == pytest.approx(count.drawn_s, rel=0.002)
    assert count.execution_s / count.served == pytest.approx(0.020, rel=0.02)
    assert count.own_cpu_s / count.served == pytest.approx(0.0065)


def test_the_mean_cpu_of_the_cpu_intensive_page_holds_and_nothing_sleeps(monkeypatch):
    """Half of the pages cost more than the least draw; the rest makes up for it."""
    work, count = PageWork(), PageCount()
    work.configure(PageWorkSettings(profile="cpu"))
    for i in range(4_000):
        fake = FakeWork(monkeypatch, 0.004 if i % 2 else 0.017, 0.0013)
        work.complete(MAIN, fake, count, alone=i % 3 == 0)
        assert "wait" not in fake.order
    assert count.cpu_s == pytest.approx(count.drawn_s, rel=0.002)
    assert count.cpu_s / count.served == pytest.approx(CPU_INTENSIVE_S / 10, rel=0.02)
    # What the page waits for its own queries is not hidden: it comes on top.
    assert count.own_wait_s / count.served == pytest.approx(0.0013)
    assert count.execution_s == pytest.approx(count.cpu_s + count.own_wait_s)


def test_the_cpu_intensive_page_really_burns_and_asks_no_database():
    """The test has no mark for the database, so pytest-django would refuse a query or a sleep
    there."""
    work, count = PageWork(), PageCount()
    work.configure(PageWorkSettings(profile="cpu", time_scale=50))
    before_s = time.thread_time()
    for _ in range(30):
        work.complete(MAIN, Stopwatch(), count, alone=True)
    outside_s = 30 * page_work.CPU_OUTSIDE_S
    assert time.thread_time() - before_s == pytest.approx(count.drawn_s - outside_s, rel=0.1)
    assert count.drawn_s / 30 == pytest.approx(CPU_INTENSIVE_S / 50, rel=0.25)


def test_a_change_to_the_cpu_intensive_page_and_back_forgets_no_learnt_waits(monkeypatch):
    work, count = PageWork(), PageCount()
    for profile in ("paper", *["cpu"] * 50, "paper"):
        work.configure(PageWorkSettings(profile=profile))
        work.complete(MAIN, FakeWork(monkeypatch, 0.003, 0.002), count, alone=True)
    fresh = PageCount()
    work.complete(MAIN, FakeWork(monkeypatch, 0.003, 0.050), fresh, alone=False)
    assert fresh.own_wait_s == pytest.approx(0.002)


def test_real_profile_tells_the_back_ends_waiting_from_that_for_the_interpreter(monkeypatch):
    work, count = PageWork(), PageCount()
    work.configure(PageWorkSettings(profile="real"))
    fake = FakeWork(monkeypatch, own_cpu_s=0.003, own_wait_s=0.040)
    fake.waited_s = 0.010
    work.complete(MAIN, fake, count, alone=False)
    assert count.own_wait_s == pytest.approx(0.010)
    assert count.own_cpu_s == pytest.approx(0.003)
    assert count.execution_s == pytest.approx(0.043 + page_work.CPU_OUTSIDE_S)
    assert (fake.order, count.drawn_s) == ([], 0)


def test_new_settings_forget_what_was_carried_over():
    work = PageWork()
    work.budget.settle(MAIN, Share(0, 0), Share(9, 9))
    work.configure(work.settings)
    assert work.budget.take_over(MAIN) == Share(0.0, 0.0)


def test_another_threads_cpu_does_not_count():
    stop = threading.Event()
    other = threading.Thread(target=lambda: [None for _ in iter(stop.is_set, True)])
    other.start()
    try:
        before_s = time.thread_time()
        page_work.burn(Stopwatch(), 0.03)
        assert time.thread_time() - before_s >= 0.03
    finally:
        stop.set()
        other.join()


@pytest.mark.django_db
def test_queries_are_counted():
    stopwatch = Stopwatch()
    with stopwatch.counting_queries():
        page_work.wait(0.001)
        page_work.wait(0.001)
    page_work.wait(0.001)
    assert stopwatch.queries == 2


@pytest.mark.django_db
def test_waits_for_queries_and_redis_are_the_back_ends():
    stopwatch = Stopwatch()
    with stopwatch.counting_queries():
        page_work.wait(0.02)
        page_work.burn(stopwatch, 0.02)
    assert 0.019 <= stopwatch.waited_s <= stopwatch.wall_s - 0.019
    before_s = stopwatch.waited_s
    cache.set("waits", 1)
    assert cache.get("waits") == 1
    assert before_s < stopwatch.waited_s <= stopwatch.wall_s


def test_a_page_that_was_stopped_is_left_out(rf):
    """Its time is in the wasted-work meter alone."""

    def stopped(request):
        raise sentry.ClientGone

    before = activity.pages()
    requests = activity.requests()
    with pytest.raises(sentry.ClientGone):
        PageWorkMiddleware(stopped)(rf.get("/"))
    assert activity.pages() == before
    assert activity.requests() == requests + 1
    assert activity.busy_workers() == 0


class TestIdleWaits:
    def test_alone_all_of_it_counts(self):
        assert IdleWaits().count("Br-1", 0.003, alone=True, at_most_s=0.005) == 0.003

    def test_among_others_what_was_learnt_alone(self):
        waits = IdleWaits()
        waits.count("Br-1", 0.003, alone=True, at_most_s=0.005)
        assert waits.count("Br-1", 0.050, alone=False, at_most_s=0.1) == pytest.approx(0.003)
        assert waits.count("Br-1", 0.001, alone=False, at_most_s=0.1) == 0.001

    def test_nothing_learnt_yet(self):
        assert IdleWaits().count("Br-1", 1.0, alone=False, at_most_s=2.0) == UNLEARNT_WAIT_S

    def test_a_hiccup_counts_no_more_than_the_budget(self):
        assert IdleWaits().count("Br-1", 18.0, alone=True, at_most_s=0.005) == 0.005

    def test_it_follows_slowly(self):
        waits = IdleWaits()
        for waited_s in (0.001, *[0.002] * 100):
            waits.count("Br-1", waited_s, alone=True, at_most_s=1)
        assert waits.count("Br-1", 1, alone=False, at_most_s=1) == pytest.approx(0.002, rel=0.01)
