"""Requests that are too large are refused before anything of them is kept."""

import asyncio
import re
import socket
import ssl

import pytest
import yaml

from lab.console.site.allowances import STUDENT, TEACHER
from lab.console.site.settings import FILE_UPLOAD_MAX_MEMORY_SIZE
from lab.console.site.uploads import FORM_BYTES, bounded
from runtime.settings import REPOSITORY
from tests.lab.console.conftest import PATIENCE_S
from tests.lab.console.visitors import enrolled, visitor

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
    asyncio.run(
        bounded(application, most_bytes)({"path": "/upload/", "headers": headers}, receive, send)
    )
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
    assert "an imported bundle of at most 256 MiB." in words


def headed(console, path, declared):
    """The first line of the answer to a request of which only the head is sent."""
    cookies = "; ".join(f"{one.name}={one.value}" for one in console.session.cookies)
    head = (
        *(f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {declared}"),
        *(f"Cookie: {cookies}", "", ""),
    )
    with socket.create_connection(("127.0.0.1", console.port), PATIENCE_S) as sender:
        if console.authority:
            sender = ssl.create_default_context(cafile=console.authority).wrap_socket(
                sender, server_hostname="127.0.0.1"
            )
        sender.sendall("\r\n".join(head).encode())
        sender.settimeout(3)  # a request that may be as large is answered when all of it is there
        try:
            return sender.makefile("rb").readline()
        except TimeoutError:
            return b"it waits for the body"
        finally:
            sender.close()


def test_the_console_refuses_by_the_head_alone(console):
    assert b" 413 " in headed(console, "/results/import", TEACHER.bundle_bytes + FORM_BYTES + 1)
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
    stranger = visitor(classroom)
    content = bytes(FILE_UPLOAD_MAX_MEMORY_SIZE)
    stranger.get("/people/login")
    stranger.session.cookies["__Host-lab_session"] = "none"
    answer = stranger.upload("bundle", "/results/import", "a.zip", content)
    assert answer.status_code == 413
    assert "64 MiB from a student who is logged in and 256 MiB from a teacher" in answer.text
    ulla = enrolled(classroom, "student", "ulla")
    answer = ulla.upload("bundle", "/results/import", "a.zip", content)
    assert "bundle: cannot be read" in answer.text


@pytest.mark.parametrize(("role", "allowance"), [("student", STUDENT), ("teacher", TEACHER)])
def test_a_body_is_as_large_as_the_bundle_of_its_sender_may_be(classroom, role, allowance):
    """The head alone decides; a session that has ended counts as a stranger's."""
    person = enrolled(classroom, role, f"uwe-{role}")
    most = allowance.bundle_bytes + FORM_BYTES
    assert headed(person, "/results/import", most) == b"it waits for the body"
    assert b" 413 " in headed(person, "/results/import", most + 1)
    assert b" 413 " in headed(person, "/upload/", FILE_UPLOAD_MAX_MEMORY_SIZE + 1)
    ended = visitor(classroom)
    ended.session.cookies.update(person.session.cookies)
    person.post("/people/logout")
    assert b" 413 " in headed(ended, "/results/import", FILE_UPLOAD_MAX_MEMORY_SIZE + 1)


def test_in_a_container_the_largest_bundle_has_room_twice():
    """As it came, and as the file of the form."""
    services = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    (temporary,) = services["lab"]["tmpfs"]
    room = int(re.fullmatch(r"/tmp:mode=1777,size=(\d+)g", temporary)[1])
    assert room * 2**30 > 2 * (TEACHER.bundle_bytes + FORM_BYTES)
    assert int(services["lab"]["mem_limit"].removesuffix("g")) >= room + 2  # it counts as memory
