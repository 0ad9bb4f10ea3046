"""A gateway that says what a test wants it to say, where a console looks for its own.

Owns: the answers. Must not know: who asks.
"""

import json
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

    def answer(self, path: str) -> dict[str, Any]:
        if path.startswith("/waiting"):
            return {"requests": []}
        return snapshot(time_s=self.time_s, counts=counted(self.confirms))


def counted(number: int) -> dict[str, dict[str, int]]:
    """Return `number` requests of every page and fate."""
    return {page: dict.fromkeys(FATES, number) for page in PAGES}


@contextmanager
def answering(scene: Scene, port: int = 0) -> Iterator[int]:
    """Answer as `scene` does, on that port or on one that is free, until the block ends."""

    def answer(request: Request) -> Reply:
        body = json.dumps(scene.answer(request.path)).encode()
        return Reply(body, headers={"Connection": "close"}, closes=True)

    with fake_server(answer, port) as server:
        yield server.port
