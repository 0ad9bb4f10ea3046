"""Requests that are too large are refused before anything of them is kept."""

import asyncio
import re
import socket
from dataclasses import replace

import pytest
import requests
import yaml

from lab.console.settings import FILE_UPLOAD_MAX_MEMORY_SIZE, MOST_UPLOAD_BYTES
from lab.console.uploads import FORM_BYTES, bounded
from runtime.settings import REPOSITORY
from tests.lab.console.conftest import PATIENCE_S, run

MOST = 10


def asked(*sizes, declared=None):
    """A body in pieces of these sizes, MOST bytes allowed: how much was read, what was answered."""
    read, sent = [], []

    async def application(scope, receive, send):
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            read.append(len(message["body"]))
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fine"})

    async def most_bytes(scope):
        return MOST

    async def send(message):
        sent.append(message)

    pieces = iter(enumerate(sizes, start=1))

    async def receive():
        number, size = next(pieces)
        return {"type": "http.request", "body": b"x" * size, "more_body": number < len(sizes)}

    headers = [] if declared is None else [(b"content-length", str(declared).encode())]
    asyncio.run(bounded(application, most_bytes)({"headers": headers}, receive, send))
    start, body = sent
    return sum(read), start["status"], body["body"].decode()


@pytest.mark.parametrize("sizes", [(0,), (MOST,), (4, MOST - 4), (MOST, 0)])
@pytest.mark.parametrize("says", [True, False])
def test_what_is_no_larger_comes_in(sizes, says):
    read, status, words = asked(*sizes, declared=sum(sizes) if says else None)
    assert (read, status, words) == (sum(sizes), 200, "fine")


@pytest.mark.parametrize(
    ("sizes", "declared", "read"),
    [((MOST + 1,), MOST + 1, 0), ((MOST + 1,), None, 0), ((4, 4, 4, 4), None, 8)],
)
def test_what_is_larger_is_refused_unread_or_let_go_of(sizes, declared, read):
    found, status, words = asked(*sizes, declared=declared)
    assert (found, status) == (read, 413)
    assert f"at most {MOST:,} bytes here" in words
    assert f"{MOST_UPLOAD_BYTES:,}" in words


def headed(console, path, declared):
    """The first line of the answer to a request of which only the head is sent."""
    with socket.create_connection(("127.0.0.1", console.port), PATIENCE_S) as visitor:
        head = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {declared}", "", "")
        visitor.sendall("\r\n".join(head).encode())
        return visitor.makefile("rb").readline()


def test_the_console_refuses_by_the_head_alone(console):
    assert b" 413 " in headed(console, "/results/import", MOST_UPLOAD_BYTES + FORM_BYTES + 1)
    assert b" 413 " in headed(console, "/upload/", FILE_UPLOAD_MAX_MEMORY_SIZE + 1)
    assert console.get("/").status_code == 200


def pieces(total):
    piece = bytes(2**16)
    for _ in range(total // len(piece) + 1):
        yield piece


def test_the_console_refuses_what_did_not_say_how_large_it_is(console):
    answer = console.session.post(
        console.url("/upload/"), data=pieces(FILE_UPLOAD_MAX_MEMORY_SIZE), timeout=PATIENCE_S
    )
    assert answer.status_code == 413
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert f"{FILE_UPLOAD_MAX_MEMORY_SIZE:,}" in answer.text
    assert console.get("/").status_code == 200


def test_a_bundle_may_be_larger_than_what_is_kept_in_memory(console):
    answer = console.upload(
        "bundle", "/results/import", "a.zip", bytes(FILE_UPLOAD_MAX_MEMORY_SIZE + 1)
    )
    assert "bundle: cannot be read" in answer.text


def test_with_accounts_it_is_for_who_has_logged_in(classroom):
    stranger = replace(classroom, session=requests.Session())
    content = bytes(FILE_UPLOAD_MAX_MEMORY_SIZE)
    stranger.get("/people/login")
    stranger.session.cookies["lab_session"] = "none"
    answer = stranger.upload("bundle", "/results/import", "a.zip", content)
    assert answer.status_code == 413
    assert "from who has logged in" in answer.text
    password = run(classroom, "student", "ulla").stdout.strip().partition(",")[2]
    stranger.session.cookies.clear()
    stranger.get("/people/login")
    stranger.post("/people/login", {"username": "ulla", "password": password})
    answer = stranger.upload("bundle", "/results/import", "a.zip", content)
    assert "bundle: cannot be read" in answer.text


def test_in_a_container_the_largest_bundle_has_room_twice():
    """As it came, and as the file of the form."""
    services = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    (temporary,) = services["lab"]["tmpfs"]
    room = int(re.fullmatch(r"/tmp:mode=1777,size=(\d+)g", temporary)[1])
    assert room * 2**30 > 2 * (MOST_UPLOAD_BYTES + FORM_BYTES)
    assert int(services["lab"]["mem_limit"].removesuffix("g")) >= room + 2  # it counts as memory
