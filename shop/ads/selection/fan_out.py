"""Priority by threads: the priority level of a request sets its number of search threads.

A thread searches for one concept at a time. In the paper, a request of low priority has one thread
(Diniz et al., section IV.B).
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MOST_THREADS = 8  # per request: the paper's highest priority level

Concept = TypeVar("Concept")
Found = TypeVar("Found")


def check_levels(levels: Mapping[int, int]) -> None:
    """Raise ValueError unless levels are numbered from 0 without gaps and have 1 to MOST_THREADS
    threads each.
    """
    if not levels or sorted(levels) != list(range(len(levels))):
        raise ValueError("priority levels must be numbered 0, 1, 2 … without gaps")
    if not all(1 <= threads <= MOST_THREADS for threads in levels.values()):
        raise ValueError(f"a priority level must have 1 to {MOST_THREADS} threads")


class FanOut:
    """The helper threads for searches, which all requests of the process share.

    `levels` maps a priority level to its number of threads, including the calling thread. The
    helper threads are sufficient for `requests` requests at the same time. If no helper thread is
    free, only the calling thread searches.
    """

    def __init__(self, levels: Mapping[int, int], requests: int) -> None:
        check_levels(levels)
        self.levels = dict(levels)
        helpers = requests * (max(levels.values()) - 1)
        self._pool = ThreadPoolExecutor(max(1, helpers), thread_name_prefix="search")

    def search(
        self, level: int, concepts: Sequence[Concept], find: Callable[[Concept], Found]
    ) -> list[Found]:
        """Call `find` for each concept, with the threads of this priority level, and return the
        results in any order.

        Raises KeyError for an unknown level.
        """
        threads = min(self.levels[level], len(concepts))
        if threads <= 1:
            return [find(concept) for concept in concepts]
        left = deque(concepts)
        found: list[Found] = []

        def work() -> None:
            while True:
                try:
                    concept = left.popleft()
                except IndexError:
                    return
                found.append(find(concept))

        helpers = [self._pool.submit(work) for _ in range(threads - 1)]
        try:
            work()
        finally:
            left.clear()  # after a failure, no thread continues with a useless search
            started = [helper for helper in helpers if not helper.cancel()]
        for helper in started:
            helper.result()
        return found

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
