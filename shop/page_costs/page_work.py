"""Page work, which makes a page of the shop cost as much as a page in the LIFO-Pri paper.

Profile `paper` draws a request's execution time uniformly within ± 50 % of its page type's
published mean (LIFO-Pri, Table 2). The drawn time is divided by the time scale. The share
BUSY_RATIO of this time is CPU time of the page's thread. The thread's CPU clock measures this CPU
time. Under contention, a page therefore takes longer, but uses the same CPU time. For the rest,
the page waits for the database: it runs `pg_sleep` on its connection, and the sentry can cancel
this query. Busy and waiting periods alternate, as in section 3.2.1 of that paper.

Under profile `cpu`, every page is the CPU-intensive page of the paper's section 3.1: it uses
CPU_INTENSIVE_S of CPU time on average, and waits only for its queries. The paper gives neither the
mean nor the distribution of this time. Uniformly distributed times within ± 50 % of CPU_INTENSIVE_S
reproduce the paper's Table 1; exponentially distributed times do not.

The page's own cost counts as part of the drawn time:

- its own CPU time, and CPU_OUTSIDE_S for Gunicorn's CPU time outside the application;
- under `paper`, its own wait for PostgreSQL and Redis: elapsed time minus CPU time. If other
  requests are in the shop, this difference is mostly the wait for the interpreter. The wait of a
  page type is therefore learnt from requests that were alone in the shop, and at most this learnt
  wait counts for other requests.

A page may cost more or less than its drawn time, for example because `pg_sleep` waits for whole
milliseconds. The difference changes the drawn time of the next request of the same type, so that
the means are right.

If the sentry is in mode `cancel`, a page whose customer has left ends within the next slice of page
work. The page does not count as served, and the next request takes over the difference from earlier
requests.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from django.db import connection

from common.page_types import BUSY_RATIO, PAGE_TYPES, SLICES, SPREAD_RATIO, PageType
from shop import sentry
from shop.activity import PageCount
from shop.page_costs import back_end

Profile = Literal["paper", "cpu", "real"]

CPU_INTENSIVE_S = 0.300  # paper seconds a page, profile `cpu`

# `python -m shop calibrate` measures it on an idle shop, and prints it.
CPU_OUTSIDE_S = 0.0004
# The largest wait that counts for a page or a sleep until one has been measured in an idle shop.
UNLEARNT_WAIT_S = 0.001
_LEARNING_RATIO = 0.1

_MILLISECOND_S = 0.001
_SPIN = range(400)


@dataclass(frozen=True, slots=True)
class PageWorkSettings:
    """The settings of page work.

    `profile` is `paper` or `cpu`, as the module explains, or `real` (only the page's own cost).
    """

    profile: Profile = "paper"
    time_scale: float = 10.0
    seed: int = 1


class Share(NamedTuple):
    """A cost: real seconds of CPU time, and of waiting for the back ends."""

    busy_s: float
    waiting_s: float


NOTHING = Share(0.0, 0.0)


class Budget:
    """The drawn costs of requests, and the differences between drawn and actual costs. The class is
    thread-safe.
    """

    def __init__(self, settings: PageWorkSettings) -> None:
        self._profile = settings.profile
        self._time_scale = settings.time_scale
        self._rng = random.Random(settings.seed)
        self._lock = threading.Lock()
        self._overdrawn = {page.name: NOTHING for page in PAGE_TYPES}

    def draw(self, page: PageType) -> Share:
        """Draw and return the cost of the next request of this type."""
        with self._lock:
            factor = self._rng.uniform(1 - SPREAD_RATIO, 1 + SPREAD_RATIO)
        factor /= self._time_scale
        if self._profile == "cpu":
            return Share(CPU_INTENSIVE_S * factor, 0.0)
        total_s = page.mean_execution_s * factor
        return Share(BUSY_RATIO * total_s, (1 - BUSY_RATIO) * total_s)

    def take_over(self, page: PageType) -> Share:
        """Return by how much earlier requests of this type exceeded their drawn costs. The caller
        must subtract this excess, because the method forgets it.
        """
        with self._lock:
            over = self._overdrawn[page.name]
            self._overdrawn[page.name] = NOTHING
        return over

    def settle(self, page: PageType, wanted: Share, spent: Share) -> None:
        """Make the next request of this type take over the difference between `spent` and
        `wanted`.
        """
        with self._lock:
            over = self._overdrawn[page.name]
            self._overdrawn[page.name] = Share(
                over.busy_s + spent.busy_s - wanted.busy_s,
                over.waiting_s + spent.waiting_s - wanted.waiting_s,
            )


class Stopwatch:
    """The cost of a request in its thread since the stopwatch was created."""

    __slots__ = ("_started_cpu_s", "_started_s", "_waited_before_s", "queries")

    def __init__(self) -> None:
        self._waited_before_s = back_end.waited_s()
        self._started_s = time.perf_counter()
        self._started_cpu_s = time.thread_time()
        self.queries = 0

    @property
    def wall_s(self) -> float:
        return time.perf_counter() - self._started_s

    @property
    def cpu_s(self) -> float:
        return time.thread_time() - self._started_cpu_s

    @property
    def waited_s(self) -> float:
        """The real seconds that the thread has waited since the stopwatch was created: for Redis,
        and for PostgreSQL within `counting_queries`.
        """
        return back_end.waited_s() - self._waited_before_s

    @contextmanager
    def counting_queries(self) -> Iterator[None]:
        """Count the queries within the block, and the time that the thread waits for them."""
        with connection.execute_wrapper(self._query):
            yield

    def _query(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.queries += 1
        return back_end.waiting(execute, *arguments)


class IdleWaits:
    """The mean times that pages wait for the back ends while no other request is in the shop."""

    def __init__(self) -> None:
        self._mean_s: dict[str, float] = {}

    def count(self, what: str, waited_s: float, alone: bool, at_most_s: float) -> float:
        """Return the part of `waited_s` that counts as a wait for the back ends, at most
        `at_most_s`.

        `what` is a page type, or `sleep`. If the request was alone in the shop, the whole wait
        counts, and the mean of `what` is updated. Otherwise, at most this mean counts; as long as
        there is no mean, at most UNLEARNT_WAIT_S counts.
        """
        waited_s = min(max(waited_s, 0.0), at_most_s)
        known_s = self._mean_s.get(what)
        if not alone:
            return min(waited_s, UNLEARNT_WAIT_S if known_s is None else known_s)
        if known_s is None:
            known_s = waited_s
        self._mean_s[what] = known_s + _LEARNING_RATIO * (waited_s - known_s)
        return waited_s


class PageWork:
    """The page work of all pages, with its present settings."""

    def __init__(self) -> None:
        self.idle_waits = IdleWaits()
        self.configure(PageWorkSettings())

    def configure(self, settings: PageWorkSettings) -> None:
        """Use these settings for page work that begins later, and draw from the seed again."""
        self._current = (settings, Budget(settings))

    def forget_waits(self) -> None:
        """Forget the learnt waits, because the pages have changed."""
        self.idle_waits = IdleWaits()

    @property
    def settings(self) -> PageWorkSettings:
        return self._current[0]

    @property
    def budget(self) -> Budget:
        return self._current[1]

    def complete(self, page: PageType, stopwatch: Stopwatch, count: PageCount, alone: bool) -> None:
        """Spend the rest of a page's drawn time after its view has ended, and count the page.

        `alone` is True if no other request was in the shop meanwhile.
        """
        settings, budget = self._current
        own_cpu_s, own_wait_s = stopwatch.cpu_s, stopwatch.waited_s
        if settings.profile != "real":
            drawn, over = budget.draw(page), budget.take_over(page)
            if drawn.waiting_s:
                own_wait_s = stopwatch.wall_s - own_cpu_s
                own_wait_s = self.idle_waits.count(page.name, own_wait_s, alone, drawn.waiting_s)
                promised_wait_s = own_wait_s
            else:
                # The page's own wait, with its wait for the interpreter, is added to the draw.
                promised_wait_s = 0.0
            wanted = Share(drawn.busy_s - over.busy_s, drawn.waiting_s - over.waiting_s)
            try:
                waited_s = promised_wait_s + self._spend(
                    stopwatch,
                    busy_until_s=wanted.busy_s - CPU_OUTSIDE_S,
                    waiting_s=wanted.waiting_s - promised_wait_s,
                    alone=alone,
                )
            except sentry.ClientGone:
                budget.settle(page, NOTHING, over)
                raise
            budget.settle(page, wanted, Share(stopwatch.cpu_s + CPU_OUTSIDE_S, waited_s))
            count.drawn_s += drawn.busy_s + drawn.waiting_s
        count.own_cpu_s += own_cpu_s
        count.queries += stopwatch.queries
        count.own_wait_s += own_wait_s
        count.served += 1
        count.cpu_s += stopwatch.cpu_s + CPU_OUTSIDE_S
        count.execution_s += stopwatch.wall_s + CPU_OUTSIDE_S

    def _spend(
        self, stopwatch: Stopwatch, busy_until_s: float, waiting_s: float, alone: bool
    ) -> float:
        """Use CPU time, with waits in between, until the stopwatch has counted `busy_until_s`.

        Returns the part of the waits that counts towards the drawn time.
        """
        busy_from_s = stopwatch.cpu_s
        busy_s = max(0.0, busy_until_s - busy_from_s)
        waited_s = 0.0
        for slice in range(1, SLICES + 1):
            burn(stopwatch, busy_from_s + busy_s * slice / SLICES)
            pause_s = whole_milliseconds(waiting_s * slice / SLICES - waited_s)
            if pause_s:
                more_s = wait(pause_s) - pause_s
                waited_s += pause_s + self.idle_waits.count("sleep", more_s, alone, pause_s)
        return waited_s


def burn(stopwatch: Stopwatch, until_cpu_s: float) -> None:
    """Use CPU time until the stopwatch shows `until_cpu_s`.

    The thread runs Python code, so it shares the interpreter with other threads, as a page's code
    does. Raises ClientGone if the request must stop.
    """
    while stopwatch.cpu_s < until_cpu_s:
        sentry.check()
        for _ in _SPIN:
            pass


def whole_milliseconds(duration_s: float) -> float:
    """Return the duration rounded to whole milliseconds, because `pg_sleep` rounds it, too."""
    return max(0, round(duration_s / _MILLISECOND_S)) * _MILLISECOND_S


def wait(duration_s: float) -> float:
    """Let the database sleep on this thread's connection; return the elapsed time minus the
    thread's CPU time.
    """
    wall_s, cpu_s = time.perf_counter(), time.thread_time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", (duration_s,))
    return (time.perf_counter() - wall_s) - (time.thread_time() - cpu_s)


work = PageWork()
