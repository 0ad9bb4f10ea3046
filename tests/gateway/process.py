"""The gateway as a process of its own, before a shop in a thread."""

import http.server
import os
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from tests.gateway.real_sockets import closed_port

REPOSITORY = Path(__file__).parents[2]


class Page(http.server.BaseHTTPRequestHandler):
    """One kilobyte, after `work_s`."""

    protocol_version = "HTTP/1.1"
    work_s = 0.0
    disable_nagle_algorithm = True

    def do_GET(self):
        time.sleep(self.work_s)
        body = b"x" * 1024
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "1024")
        self.end_headers()

    def log_message(self, *args):
        """Quiet."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


@contextmanager
def shop(work_s=0.0):
    """The port of a small threaded HTTP server."""
    page = type("WorkingPage", (Page,), {"work_s": work_s})
    with Server(("127.0.0.1", 0), page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def command(*options):
    return [sys.executable, "-m", "gateway", *options]


def environment(**variables):
    """Ours, without what a running appliance may have set."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DOORBUSTER_")}
    return kept | {name: str(value) for name, value in variables.items()}


@contextmanager
def gateway(shop_port, *options):
    """(process, port, admin port) of a gateway that answers; killed if the test leaves it."""
    port, admin_port = closed_port(), closed_port()
    process = subprocess.Popen(
        command(*options),
        cwd=REPOSITORY,
        env=environment(
            DOORBUSTER_GATEWAY_PORT=port,
            DOORBUSTER_GATEWAY_ADMIN_PORT=admin_port,
            DOORBUSTER_SHOP_PORT=shop_port,
            DOORBUSTER_SHOP_CONTROLLER_PORT=closed_port(),
        ),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline_s = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/health", timeout=5):
                    break
            except OSError:
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline_s, "the gateway does not come up"
                time.sleep(0.02)
        yield process, port, admin_port
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
