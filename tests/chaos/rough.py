"""Forms that are sent wrongly, while their customer also sends them well."""

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from urllib.parse import urlsplit

import requests

from tests.resetting import reset

WAYS = ("well", "reset", "closed", "twice", "half-closed")
_PATIENCE_S = 20.0
_LEAVES_WITHIN_S = 0.1


@contextmanager
def sent(
    browser: requests.Session, url: str, path: str, body: str, rng: Random
) -> Iterator[list[bytes]]:
    """Send the form in one of `WAYS` before the block begins; `twice` is under way during it.

    Yield a list, which has the page that came, if any, when the block has ended.
    """
    way = rng.choice(WAYS)
    answers: list[bytes] = []
    client = None if way == "well" else _begun(browser, url, path, body)
    if client is not None and way in ("reset", "closed"):
        time.sleep(rng.uniform(0, _LEAVES_WITHIN_S))
        if way == "reset":
            reset(client)
        client.close()
        client = None
    elif client is not None and way == "half-closed":
        answers += _answer(client, half_close=True)
        client = None
    yield answers
    if client is not None:
        answers += _answer(client, half_close=False)


def _begun(browser: requests.Session, url: str, path: str, body: str) -> socket.socket | None:
    """Return a connection on which the form has been sent; None if no server listens."""
    parts = urlsplit(url)
    cookies = "; ".join(f"{one.name}={one.value}" for one in browser.cookies)
    request = (
        f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: {cookies}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )
    try:
        client = socket.create_connection((parts.hostname, parts.port), timeout=_PATIENCE_S)
        client.sendall(request.encode())
    except OSError:
        return None
    return client


def _answer(client: socket.socket, *, half_close: bool) -> list[bytes]:
    """Return the page that came, if one did."""
    with client:
        try:
            if half_close:
                client.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(client, method="POST")
            answer.begin()
            return [answer.read()]
        except (OSError, http.client.HTTPException):
            return []
