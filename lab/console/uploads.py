"""How large a request may be: known before anything of it is kept.

Owns: the limits, and the refusal of what is larger. Must not know: what is in a body.

Django writes a whole body to the disk before it asks whose it is: without this anybody who reaches
the console could fill it.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.http import parse_cookie

from lab.console.settings import (
    FILE_UPLOAD_MAX_MEMORY_SIZE,
    LAB,
    MOST_UPLOAD_BYTES,
    SESSION_COOKIE_NAME,
)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

IMPORT_PATH = "/results/import"
FORM_BYTES = 1024 * 1024
"""What a form may have around its file."""


def bounded(application: Application, most_bytes: Callable[[Scope], Awaitable[int]]) -> Application:
    """The same, but it is let go of once a body turns out larger than `most_bytes` of its scope."""

    async def within(scope: Scope, receive: Receive, send: Send) -> None:
        most = await most_bytes(scope)
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > most:
            await _refuse(send, most)
            return
        seen = 0

        async def counted() -> dict[str, Any]:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            # To Django they have left: it drops what it has and answers nothing.
            return message if seen <= most else {"type": "http.disconnect"}

        await application(scope, counted, send)
        if seen > most:  # it came in pieces that did not say how many there are
            await _refuse(send, most)

    return within


async def allowed_bytes(scope: Scope) -> int:
    """Only who may bring a bundle may send more than is kept in memory."""
    if scope["path"] == IMPORT_PATH and await _may_import(scope):
        return MOST_UPLOAD_BYTES + FORM_BYTES
    return FILE_UPLOAD_MAX_MEMORY_SIZE


async def _may_import(scope: Scope) -> bool:
    if not LAB.lab_accounts:
        return True
    from django.contrib.auth import SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    cookies = parse_cookie(_header(scope, b"cookie").decode("latin-1"))
    session = SessionStore(cookies.get(SESSION_COOKIE_NAME))
    return await session.aget(SESSION_KEY) is not None


def _header(scope: Scope, name: bytes) -> bytes:
    return next((text for key, text in scope["headers"] if key == name), b"")


async def _refuse(send: Send, most: int) -> None:
    who = " from who has logged in" if LAB.lab_accounts else ""
    words = (
        f"The request is too large; allowed: at most {most:,} bytes here, and a bundle to be "
        f"imported of at most {MOST_UPLOAD_BYTES:,} bytes{who}.\n"
    ).encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(words)).encode()),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": words})
