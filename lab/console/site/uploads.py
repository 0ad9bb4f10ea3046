"""The limit on the size of a request. Django writes a whole body to the disk before it checks the
sender, so without this limit any client could fill the disk."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.http import parse_cookie

from lab.console.site.allowances import STUDENT, TEACHER, Allowance, written
from lab.console.site.calls import is_call, refusal
from lab.console.site.settings import FILE_UPLOAD_MAX_MEMORY_SIZE, LAB, SESSION_COOKIE_NAME

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

IMPORT_PATHS = ("/results/import", "/api/results")
FORM_BYTES = 1024 * 1024
"""The size, in bytes, that a form can have in addition to its file."""


def bounded(application: Application, most_bytes: Callable[[Scope], Awaitable[int]]) -> Application:
    """Return the application with a limit, `most_bytes(scope)`, on the size of bodies."""

    async def within(scope: Scope, receive: Receive, send: Send) -> None:
        most = await most_bytes(scope)
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > most:
            await _refuse(scope, send, most)
            return
        seen = 0

        async def counted() -> Mapping[str, Any]:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            # For Django the client has left: it drops the body and does not answer.
            return message if seen <= most else {"type": "http.disconnect"}

        await application(scope, counted, send)
        if seen > most:  # it came in pieces without a declared length
            await _refuse(scope, send, most)

    return within


async def allowed_bytes(scope: Scope) -> int:
    """Return the largest size of a body, in bytes. Only imports can be larger than
    FILE_UPLOAD_MAX_MEMORY_SIZE."""
    if scope["path"] in IMPORT_PATHS and (allowance := await _allowance_of(scope)):
        return allowance.bundle_bytes + FORM_BYTES
    return FILE_UPLOAD_MAX_MEMORY_SIZE


async def _allowance_of(scope: Scope) -> Allowance | None:
    if not LAB.lab_accounts:
        return TEACHER
    from lab.console.site import permissions, tokens

    if is_call(scope["path"]) and (authorization := _header(scope, b"authorization")):
        account = await sync_to_async(tokens.account_of)(authorization.decode("latin-1"))
        return permissions.allowance_of_account(account)
    cookies = parse_cookie(_header(scope, b"cookie").decode("latin-1"))
    return await permissions.allowance_of_session(cookies.get(SESSION_COOKIE_NAME))


def _header(scope: Scope, name: bytes) -> bytes:
    return next((text for key, text in scope["headers"] if key == name), b"")


async def _refuse(scope: Scope, send: Send, most: int) -> None:
    people = (STUDENT, TEACHER) if LAB.lab_accounts else (TEACHER,)
    sizes = [written("bundle_bytes", one.bundle_bytes) for one in people]
    whose = [f" from {one.whose} who is logged in" if LAB.lab_accounts else "" for one in people]
    bundle = " and ".join(f"{size}{who}" for size, who in zip(sizes, whose, strict=True))
    words = (
        f"The request is too large; allowed: at most {most:,} bytes here, "
        f"and an imported bundle of at most {bundle}."
    )
    body, kind = f"{words}\n".encode(), b"text/plain; charset=utf-8"
    if is_call(scope["path"]):
        body, kind = (
            refusal(413, words, allowed=f"at most {most:,} bytes").content,
            b"application/json",
        )
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
