"""A gateway that says what a test wants it to say, where a console looks for its own.

Owns: the answers. Must not know: who asks.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gateway.policies.interface import FATES, PAGES
from tests.lab.console.watch.test_frames import snapshot


class Scene:
    """What it says until somebody says otherwise."""

    def __init__(self) -> None:
        self.time_s, self.confirms = 500.0, 40

    def answer(self, path: str) -> dict[str, Any]:
        if path.startswith("/waiting"):
            return {"requests": []}
        return snapshot(time_s=self.time_s, counts=counted(self.confirms))


def counted(number: int) -> dict[str, dict[str, int]]:
    """So many requests of every page and fate."""
    return {page: dict.fromkeys(FATES, number) for page in PAGES}


@contextmanager
def answering(scene: Scene, port: int = 0) -> Iterator[int]:
    """Says what `scene` does, on that port or on one that is free, until the block ends."""

    class Gateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(scene.answer(self.path)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Gateway) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
