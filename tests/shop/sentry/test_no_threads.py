"""Cancels of a process that sometimes can start no thread."""

import threading

from shop.sentry.cancelling import Canceller
from shop.sentry.watch import Cancel
from tests.shop.thread_limit import no_more_threads
from tests.waiting import until


class Query:
    """A query without a session for cancelling, whose cancel takes until `may_end`."""

    def __init__(self):
        self.times_told = 0
        self.lock = threading.Lock()
        self.is_told, self.may_end, self.may_begin = (threading.Event() for _ in range(3))
        self.may_begin.set()

    def session_of(self, cancel):
        self.may_begin.wait()
        return

    def cancel(self, cancel, timeout_s):
        self.times_told += 1
        self.is_told.set()
        self.may_end.wait()


def test_queries_are_cancelled_again_after_a_lack_of_threads(caplog):
    """The thread that cancels survives a side thread that cannot start."""
    canceller = Canceller()
    first, second, third = queries = [Query() for _ in range(3)]
    try:
        canceller.cancel(first, Cancel())
        until(first.is_told.is_set)
        with no_more_threads():
            canceller.cancel(second, Cancel())
            until(lambda: "a query could not be cancelled" in caplog.text, within_s=20)
        second.may_end.set()
        canceller.cancel(third, Cancel())
        until(third.is_told.is_set, within_s=20)
        assert third.is_told.is_set()
    finally:
        for query in queries:
            query.may_end.set()


def test_failed_tries_leave_at_most_one_copy_of_an_attempt(caplog):
    """A busy side thread carries out the copy of the first try only."""
    canceller = Canceller()
    first, second = queries = [Query() for _ in range(2)]
    try:
        canceller.cancel(first, Cancel())
        until(first.is_told.is_set)
        second.may_end.set()
        with no_more_threads():
            canceller.cancel(second, Cancel())
            until(lambda: caplog.text.count("a query could not be cancelled") >= 3, within_s=20)
        until(second.is_told.is_set, within_s=20)
        first.may_end.set()
        until(lambda: second.times_told == 2)
        assert second.times_told == 2
    finally:
        for query in queries:
            query.may_end.set()


def test_no_query_of_a_batch_is_lost_for_lack_of_threads(caplog):
    """The attempts that wait at the same time are all carried out once a thread can start."""
    canceller = Canceller()
    queries = [Query() for _ in range(4)]
    try:
        canceller.cancel(queries[0], Cancel())
        until(queries[0].is_told.is_set)
        queries[1].may_begin.clear()
        with no_more_threads():
            for query in queries[1:]:
                canceller.cancel(query, Cancel())
            queries[1].may_begin.set()  # the others now wait together
            until(lambda: caplog.text.count("a query could not be cancelled") >= 3, within_s=20)
        for query in queries[1:]:
            until(query.is_told.is_set, within_s=20)
            assert query.is_told.is_set()
    finally:
        for query in queries:
            query.may_end.set()
