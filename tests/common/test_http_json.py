"""The JSON client and a real server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from common.http_json import JsonClient, NoAnswerError, RefusedError

PATIENCE_S = 120.0
CONTENTS = {
    "/refused": (400, b'{"error": "policy: unknown", "allowed": ["sq"]}'),
    "/broken": (502, b"<html>"),
    "/html": (200, b"<html>"),
    "/empty": (200, b""),
    "/list": (200, b"[1, 2]"),
}


class Server(HTTPServer):
    """Answers by path, and closes each connection afterwards, so that none can be kept."""

    seen: list[tuple[str, str, str | None, bytes]]


class Answers(BaseHTTPRequestHandler):
    """What the server answers; other paths get an object."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Note the call and answer it."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, self.headers["Authorization"], body))
        status, content = CONTENTS.get(self.path, (200, b'{"n": 1}'))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True

    do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a free port."""
    with Server(("127.0.0.1", 0), Answers) as found:
        found.seen = []
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Iterator[JsonClient]:
    """A client of that server."""
    url = f"http://127.0.0.1:{server.server_port}"
    with JsonClient.at(url, timeout_s=PATIENCE_S, token="secret") as found:
        yield found


def test_body_and_token_go_with_a_call(client: JsonClient, server: Server) -> None:
    """The body is JSON, the token is in the field Authorization."""
    assert client.call("PUT", "/settings", {"seed": 7}) == {"n": 1}
    assert server.seen == [("PUT", "/settings", "Bearer secret", b'{"seed": 7}')]


def test_a_closed_connection_is_opened_again(client: JsonClient, server: Server) -> None:
    """A call that the server has not received is sent once more."""
    assert [client.call("GET", "/")["n"] for _ in range(3)] == [1, 1, 1]
    assert len(server.seen) == 3


@pytest.mark.parametrize(("path", "answer"), [("/list", [1, 2]), ("/empty", {})])
def test_any_json_is_an_answer(client: JsonClient, path: str, answer: object) -> None:
    """An empty answer counts as an empty object."""
    assert client.call("GET", path) == answer


def test_a_refusal_carries_the_reason_and_the_answer(client: JsonClient) -> None:
    """The field `error` of the answer is the reason."""
    with pytest.raises(RefusedError, match=r"^policy: unknown$") as refused:
        client.call("GET", "/refused")
    assert refused.value.status == 400
    assert refused.value.answer["allowed"] == ["sq"]


def test_a_refusal_without_json_has_the_reason_of_its_status(client: JsonClient) -> None:
    """A page of HTML says nothing that fits into a message."""
    with pytest.raises(RefusedError, match="Bad Gateway") as refused:
        client.call("GET", "/broken")
    assert refused.value.answer is None


def test_html_is_no_answer(client: JsonClient) -> None:
    """An answer with status 200 must be JSON."""
    with pytest.raises(NoAnswerError, match="Expecting value"):
        client.call("GET", "/html")


def test_an_unused_port_gives_no_answer() -> None:
    """The cause is kept for callers that explain it."""
    with pytest.raises(NoAnswerError, match="refused") as fault:
        JsonClient("127.0.0.1", 1, timeout_s=PATIENCE_S).call("GET", "/")
    assert isinstance(fault.value.__cause__, ConnectionRefusedError)
