"""A fault for lessons: for a limited time, every query of a page waits longer in PostgreSQL.

The wait is a separate query (`pg_sleep`). It occupies the worker and the connection, makes the
transaction hold its locks for longer, and can be cancelled by the sentry. The fault exists only in
the memory of the shop's process, and ends by itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection

from shop.page_costs import page_work

LONGER_S: Final = 1.0
"""The additional wait of each query, in paper seconds."""
MOST_REAL_S: Final = 300.0
"""The longest duration of the fault in real seconds."""


class SlowDatabase:
    """The state of the fault, and the number of times that it was started."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until_s = 0.0
        self.times = 0

    def begin(self, for_s: float) -> None:
        """Make queries slow for `for_s` paper seconds, at most MOST_REAL_S real seconds; 0 ends
        the fault.
        """
        real_s = min(for_s / page_work.work.settings.time_scale, MOST_REAL_S)
        self._until_s = self._clock() + real_s
        self.times += for_s > 0

    @property
    def left_s(self) -> float:
        """The paper seconds until the fault ends, or 0 if there is no fault."""
        left_s = max(0.0, self._until_s - self._clock())
        return left_s * page_work.work.settings.time_scale

    @contextmanager
    def felt(self) -> Iterator[bool]:
        """Delay the queries within the block if the fault is active; yield whether it is active."""
        if self._clock() >= self._until_s:
            yield False
            return
        with connection.execute_wrapper(self._slowly):
            yield True

    def _slowly(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        wait_s = min(LONGER_S / page_work.work.settings.time_scale, self._until_s - self._clock())
        if wait_s > 0 and connection.vendor == "postgresql":
            # A cursor of the driver, so that the page's cursor keeps the page's query.
            with connection.wrap_database_errors, connection.create_cursor() as cursor:
                cursor.execute("SELECT pg_sleep(%s)", (wait_s,))
        return execute(*arguments)


slow_database = SlowDatabase()
