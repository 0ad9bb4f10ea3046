"""Priority by threads: a request's concepts are searched by as many threads as its level has.

Owns: the levels and the threads. Must not know: what a search is, who is of which level.
Source: ad_server.txt, section IV.B: one concept per thread at a time, low priority one thread.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MOST_THREADS = 8  # of one request: the paper's largest priority level

Concept = TypeVar("Concept")
Found = TypeVar("Found")


def check_levels(levels: Mapping[int, int]) -> None:
    """Raises ValueError unless levels are numbered from 0 and have 1 to MOST_THREADS threads."""
    if not levels or sorted(levels) != list(range(len(levels))):
        raise ValueError("priority levels are numbered 0, 1, 2 … without gaps")
    if not all(1 <= threads <= MOST_THREADS for threads in levels.values()):
        raise ValueError(f"a priority level has 1 to {MOST_THREADS} threads")


class FanOut:
    """Searches with the threads of a level; shared by the server's threads.

    `levels` maps a priority level to its number of threads, the one that asks included: {0: 1,
    1: 4} is the paper's low and high priority. `requests` may search at once with all their
    threads; a helper that a busy pool does not give costs the request nothing but its help.
    """

    def __init__(self, levels: Mapping[int, int], requests: int) -> None:
        check_levels(levels)
        self.levels = dict(levels)
        helpers = requests * (max(levels.values()) - 1)
        self._pool = ThreadPoolExecutor(max(1, helpers), thread_name_prefix="search")

    def search(
        self, level: int, concepts: Sequence[Concept], find: Callable[[Concept], Found]
    ) -> list[Found]:
        """What `find` answers for each concept, in no particular order. KeyError: no such level."""
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
            left.clear()  # after a failure, too, nobody goes on for an answer that nobody gets
            started = [helper for helper in helpers if not helper.cancel()]
        for helper in started:
            helper.result()
        return found

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)
