"""The gateway's own answers to requests: status, reason and page."""

from datetime import UTC, datetime
from html import escape
from math import ceil


class RefusedError(Exception):
    """The error for a message that the gateway must not pass on; the customer gets `status`.

    `reason` is shown on the page; `headers` are sent with the answer. The connection is closed
    after the answer, because its later bytes cannot be trusted.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason
        self.headers = headers


TITLES: dict[int, str] = {
    204: "No Content",
    400: "Bad Request",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
}
"""The statuses of the gateway's own answers, with their reason phrases."""

ADVICE: dict[int, str] = {
    408: "Your request took too long to arrive. Please try again.",
    502: "The shop did not give a usable answer. Please try again in a moment.",
    503: "The shop is very busy right now. Please try again in a moment.",
    504: "The shop took too long to answer. Please try again in a moment.",
}
"""The advice to visitors, for each status whose reason alone does not help them."""

RETRY_SOON: tuple[tuple[bytes, bytes], ...] = ((b"Retry-After", b"2"),)
"""The headers of answers to failed or stopped requests: the customer may retry after 2 real
seconds."""

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 12vh auto; max-width: 34rem; padding: 0 1.25rem;
  font: 1.1rem/1.5 system-ui, sans-serif; color: #1c2430; background: #fbfaf7 }}
h1 {{ font-size: 1.6rem }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e8e6e1; background: #16191f }} }}
</style>
</head>
<body>
<main>
<h1>{heading}</h1>
{text}
<p><small>Status {status}: {reason}</small></p>
</main>
</body>
</html>
"""

_BY_THE_SECOND_S = 90
_BY_THE_MINUTE_S = 90 * 60

_REJECTION = """<p>The shop is full: one more customer would slow down all the others.
So no new customers are let in for the moment.</p>
<p><strong>Please come back in about {wait}</strong>, at
<time datetime="{exact}">{clock}</time>.</p>
<p>Your request has not reached the shop: nothing was ordered or charged. There is no queue
in which you would lose a place, so you can close this page.</p>"""


def page(status: int, reason: str) -> bytes:
    """Return the page for a visitor, with the escaped `reason`. Raises KeyError for a status that
    the gateway never sends.
    """
    advice = ADVICE.get(status, "The gateway could not pass your request on.")
    heading = TITLES[status]
    return _framed(status, reason, f"{status} {heading}", heading, f"<p>{advice}</p>")


def rejection_page(reason: str, wait_s: int, now_s: float) -> bytes:
    """Return the page for a rejected visitor, who may return `wait_s` seconds after `now_s` (in
    seconds since 1970). The displayed time is rounded up.

    An explicit rejection discourages immediate retries (SBAC, section 8). The page does not reload
    itself, because that would be a retry.
    """
    step_s = 1 if wait_s < _BY_THE_SECOND_S else 60
    back_s = ceil((now_s + wait_s) / step_s) * step_s
    back = datetime.fromtimestamp(back_s, UTC).astimezone()
    text = _REJECTION.format(
        wait=_in_words(wait_s),
        exact=back.isoformat(),
        clock=back.strftime("%H:%M:%S %Z" if step_s == 1 else "%H:%M %Z"),
    )
    return _framed(503, reason, "The shop is full", "The shop is full right now", text)


def _in_words(wait_s: int) -> str:
    if wait_s < _BY_THE_SECOND_S:
        return "1 second" if wait_s == 1 else f"{wait_s} seconds"
    if wait_s < _BY_THE_MINUTE_S:
        return f"{ceil(wait_s / 60)} minutes"
    return f"{ceil(wait_s / 3600)} hours"


def _framed(status: int, reason: str, title: str, heading: str, text: str) -> bytes:
    """Return a whole page around `text`; `title`, `heading` and `text` are HTML."""
    return _FRAME.format(
        status=status, reason=escape(reason), title=title, heading=heading, text=text
    ).encode()


def response(
    status: int,
    page: bytes,
    *,
    request_id: bytes,
    date: bytes,
    keep_alive: bool,
    is_head: bool = False,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> bytes:
    """Return a complete HTTP/1.1 response with the page and `headers`. `date` is an IMF-fixdate
    (RFC 9110, 5.6.7). With `is_head`, the page is omitted.
    """
    body = b""
    lines = [
        b"HTTP/1.1 %d %b" % (status, TITLES[status].encode()),
        b"Date: " + date,
        b"Cache-Control: no-store",
        b"X-Request-Id: " + request_id,
    ]
    if status != 204:
        body = page
        lines.append(b"Content-Type: text/html; charset=utf-8")
        lines.append(b"Content-Length: %d" % len(body))
    lines.extend(b"%b: %b" % header for header in headers)
    lines.append(b"Connection: keep-alive" if keep_alive else b"Connection: close")
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    return head if is_head else head + body
