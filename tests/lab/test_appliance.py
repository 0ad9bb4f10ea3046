import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from lab.experiments.appliance import JsonApi, is_loopback
from lab.experiments.errors import ExperimentError


class Answers(BaseHTTPRequestHandler):
    """Answers by path; closes the connection after each, so that reuse is put to the test."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"<html>" if self.path == "/html" else b'{"error": "policy: no", "n": 1}'
        self.send_response(400 if self.path == "/refused" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def api():
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        found = JsonApi("The part", "127.0.0.1", server.server_port)
        yield found
        found.close()
        server.shutdown()
        thread.join()


def test_a_kept_connection_that_was_closed_is_opened_again(api):
    assert [api.call("GET", "/")["n"] for _ in range(3)] == [1, 1, 1]


def test_a_refusal_is_passed_on(api):
    with pytest.raises(ExperimentError, match="The part refused GET /refused: policy: no"):
        api.call("GET", "/refused")


def test_what_is_no_json_is_named(api):
    with pytest.raises(ExperimentError, match="make up"):
        api.call("GET", "/html")


def test_nobody_there_names_the_mend():
    with pytest.raises(ExperimentError, match=r"127\.0\.0\.1:1 .*make up"):
        JsonApi("The part", "127.0.0.1", 1).call("GET", "/")


@pytest.mark.parametrize(
    ("url", "ours"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://localhost", True),
        ("http://[::1]:80", True),
        ("http://10.0.0.5:8080", False),
        ("http://127.evil.example", False),
        ("http://example.org", False),
    ],
)
def test_load_goes_to_this_machine_only(url, ours):
    assert is_loopback(url) is ours
