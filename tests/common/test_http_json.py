"""The JSON client and a real server."""

import pytest

from common.http_json import JsonClient, NoAnswerError, RefusedError
from tests.fake_shop.server import Reply, fake_server

PATIENCE_S = 120.0
CONTENTS = {
    "/refused": (400, b'{"error": "policy: unknown", "allowed": ["sq"]}'),
    "/broken": (502, b"<html>"),
    "/html": (200, b"<html>"),
    "/empty": (200, b""),
    "/list": (200, b"[1, 2]"),
}


def answer(request):
    """Answer by path, and close each connection afterwards, so that none can be kept."""
    status, content = CONTENTS.get(request.path, (200, b'{"n": 1}'))
    return Reply(content, status, closes=True)


@pytest.fixture
def server():
    """A server on a free port."""
    with fake_server(answer) as found:
        yield found


@pytest.fixture
def client(server):
    """A client of that server."""
    with JsonClient.at(server.url, timeout_s=PATIENCE_S, token="secret") as found:
        yield found


def test_body_and_token_go_with_a_call(client, server):
    """The body is JSON, the token is in the field Authorization."""
    assert client.call("PUT", "/settings", {"seed": 7}) == {"n": 1}
    (request,) = server.requests
    assert (request.method, request.path) == ("PUT", "/settings")
    assert request.headers["authorization"] == "Bearer secret"
    assert request.body == b'{"seed": 7}'


def test_a_closed_connection_is_opened_again(client, server):
    """A call that the server has not received is sent once more."""
    assert [client.call("GET", "/")["n"] for _ in range(3)] == [1, 1, 1]
    assert len(server.requests) == 3


@pytest.mark.parametrize(("path", "answer"), [("/list", [1, 2]), ("/empty", {})])
def test_any_json_is_an_answer(client, path, answer):
    """An empty answer counts as an empty object."""
    assert client.call("GET", path) == answer


def test_a_refusal_carries_the_reason_and_the_answer(client):
    """The field `error` of the answer is the reason."""
    with pytest.raises(RefusedError, match=r"^policy: unknown$") as refused:
        client.call("GET", "/refused")
    assert refused.value.status == 400
    assert refused.value.answer["allowed"] == ["sq"]


def test_a_refusal_without_json_has_the_reason_of_its_status(client):
    """A page of HTML has no text that fits into a message."""
    with pytest.raises(RefusedError, match="Bad Gateway") as refused:
        client.call("GET", "/broken")
    assert refused.value.answer is None


def test_html_is_no_answer(client):
    """An answer with status 200 must be JSON."""
    with pytest.raises(NoAnswerError, match="Expecting value"):
        client.call("GET", "/html")


def test_an_unused_port_gives_no_answer():
    """The cause is kept for callers that explain it."""
    with pytest.raises(NoAnswerError, match="refused") as fault:
        JsonClient("127.0.0.1", 1, timeout_s=PATIENCE_S).call("GET", "/")
    assert isinstance(fault.value.__cause__, ConnectionRefusedError)
