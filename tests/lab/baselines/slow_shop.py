"""A shop of one page that takes its time, for baseline proxies that are run for real.

Owns: how long a page takes and what was asked of it. Must not know: baseline proxies.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIMIT_S = 60.0


class SlowShop:
    """Answers a page when `let_go` says so; `/quick/` at once."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[tuple[str, dict[str, str]]] = []
        """Path and header fields of every request, their names in lower case."""
        self._go = threading.Event()

    def let_go(self) -> None:
        self._go.set()

    def hold(self) -> None:
        self._go.clear()

    def wait(self) -> None:
        self._go.wait(LIMIT_S)


@contextmanager
def slow_shop() -> Iterator[SlowShop]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            shop.asked.append((self.path, headers))
            if "quick" not in self.path:
                shop.wait()
            page = b"<p>here you are</p>" * 100
            try:
                self.send_response(200)
                self.send_header("Content-Length", str(len(page)))
                self.send_header("X-Doorbuster-Verdict", "forged")
                self.end_headers()
                self.wfile.write(page)
            except OSError:
                self.close_connection = True  # the baseline proxy has cut it

        do_POST = do_GET  # noqa: N815 (the server's own name for it)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # cut by the proxy
        shop = SlowShop(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield shop
        finally:
            shop.let_go()
            server.shutdown()
            thread.join()
