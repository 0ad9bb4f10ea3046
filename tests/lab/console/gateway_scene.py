"""A gateway that says what a test wants it to say, where a console looks for its own."""

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gateway.policies.interface import FATES, PAGES
from tests.fake_shop.server import Reply, Request, fake_server
from tests.lab.console.watch.test_frames import snapshot


class Scene:
    """The state that a fake gateway reports until a test changes it."""

    def __init__(self) -> None:
        self.time_s, self.confirms = 500.0, 40

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a change, which has no effect."""
        return {}

    def answer(self, path: str) -> dict[str, Any]:
        if path.startswith("/waiting"):
            return {"waiting": 0, "requests": []}
        return snapshot(time_s=self.time_s, counts=counted(self.confirms))


class Rush(Scene):
    """A full queue at a shop that also makes pages for customers who have gone.

    A test may set `policy`, `waiting` and the share `orphaned`. The fake gateway adopts a
    `PUT /policy` and a `PUT /settings`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.began_s = time.monotonic()
        self.policy, self.admission, self.abandonment = "sq", "none", "ignore"
        self.waiting = 88
        self.orphaned = 1 / 3
        self.slow_s = 0.0

    @property
    def real_s(self) -> float:
        """Return the real seconds since the scene began."""
        return time.monotonic() - self.began_s

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Adopt what the console changes."""
        if path == "/slow-database":
            self.slow_s = body["for_s"]
        if path == "/policy":
            self.policy, self.admission = body["name"], body["admission"]["name"]
        self.abandonment = body.get("abandonment", self.abandonment)
        return {}

    def answer(self, path: str) -> dict[str, Any]:
        """Return a snapshot, or the queue: the oldest has waited longer than most customers do."""
        if path == "/status":
            return {"slow_database": self._slow()}
        if path.startswith("/waiting"):
            first = int(self.real_s * 12)
            requests = [self._request(first, nth) for nth in range(self.waiting)]
            return {"waiting": self.waiting, "requests": requests}
        pages = [_page(nth) for nth in range(self.waiting)]
        lengths = {page: pages.count(page) for page in PAGES}
        ratio = 0.9 + 0.09 * math.sin(self.real_s / 3)
        return snapshot(
            time_s=500 + 10 * self.real_s,
            policy={
                "name": self.policy,
                "parameters": {"capacity": 100} if self.policy == "sq" else {},
                "admission": {"name": self.admission, "parameters": {}},
                "snapshot": {"discipline": "FIFO" if self.policy == "sq" else "LIFO"},
            },
            abandonment={"mode": self.abandonment},
            waiting=self.waiting,
            waiting_by_page=lengths,
            in_service=30 if self.waiting else 12,
            counts=self._counts(),
            load={
                "cpu_utilisation_ratio": ratio if self.waiting else 0.4,
                "status": {
                    "cpu_s": 100 + self.real_s,
                    "slow_database": self._slow(),
                    "sentry": {"wasted_cpu_s": 10 + self.real_s * self.orphaned},
                },
            },
        )

    def _slow(self) -> dict[str, float]:
        return {"left_s": self.slow_s, "times": int(self.slow_s > 0)}

    def _request(self, first: int, nth: int) -> list[object]:
        waited_s = 17.0 * (1 - nth / (self.waiting + 1))
        return [first + nth, _page(nth), waited_s, nth < self.waiting * 0.3]

    def _counts(self) -> dict[str, dict[str, int]]:
        made = int(self.real_s * 60)
        gone = int(made * self.orphaned)
        rush = {"arrived": 2 * made, "answered": made - gone, "orphaned": gone,
                "abandoned_waiting": made // 2, "dropped": made // 3}  # fmt: skip
        nothing = dict.fromkeys(FATES, 0)
        return {page: nothing | (rush if page == PAGES[0] else {}) for page in PAGES}


def _page(nth: int) -> str:
    """Return the page of the request in this place of the queue."""
    return str(PAGES[nth * nth % 11 % 8])


def counted(number: int) -> dict[str, dict[str, int]]:
    """Return `number` requests of every page and fate."""
    return {page: dict.fromkeys(FATES, number) for page in PAGES}


@contextmanager
def answering(scene: Scene, port: int = 0) -> Iterator[int]:
    """Answer as `scene` does, on that port or on one that is free, until the block ends."""

    def answer(request: Request) -> Reply:
        if request.method == "PUT":
            found = scene.put(request.path, json.loads(request.body))
        else:
            found = scene.answer(request.path)
        body = json.dumps(found).encode()
        return Reply(body, headers={"Connection": "close"}, closes=True)

    with fake_server(answer, port) as server:
        yield server.port
