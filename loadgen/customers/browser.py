"""A customer's browser, with a connection, cookies and the customer's patience.

The browser keeps its connection alive between pages, and closes it when the customer leaves. Unlike
a connection pool, it never repeats a request by itself, so that client and gateway count the same
attempts. Durations are real seconds.
"""

from dataclasses import dataclass

import gevent
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from loadgen.customers.connection import (
    Connected,
    Connection,
    HostError,
    NotConnectedError,
    ShopAddress,
    why,
)
from loadgen.records.attempts import AttemptOutcome
from loadgen.records.connection_log import ConnectionKind

__all__ = ["Browser", "Fetched", "HostError", "ShopAddress"]

_READ_BYTES = 65536
_VERDICTS = {"dropped": AttemptOutcome.DROPPED, "rejected": AttemptOutcome.REJECTED}


@dataclass(slots=True)
class Fetched:
    """The result of an attempt; `body` is empty unless the outcome is `completed`."""

    outcome: AttemptOutcome
    status: int = 0
    request_id: str = ""
    body: bytes = b""
    reason: str = ""
    was_idle: bool = False
    """True if no byte arrived, because the server had closed the kept-alive connection."""


class _Parts:
    """The received parts of a response. When an interim response (1xx) is followed by another
    response, the parts of the other response replace it.
    """

    __slots__ = ("body", "fields", "is_complete", "is_head_complete", "keeps_alive", "parser")

    def __init__(self) -> None:
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.is_head_complete = self.is_complete = self.keeps_alive = False
        self.parser: HttpResponseParser | None = None
        """The parser, set only during parsing, so that no reference cycle remains."""

    def on_message_begin(self) -> None:
        self.fields.clear()
        self.is_head_complete = self.is_complete = self.keeps_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.is_head_complete = True

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        assert self.parser is not None
        # The parser forgets this value afterwards.
        self.keeps_alive = self.parser.should_keep_alive()
        self.is_complete = True


class _Response:
    """A response to a request whose method is not HEAD."""

    __slots__ = ("_parser", "_parts")

    def __init__(self) -> None:
        self._parts = _Parts()
        self._parser = HttpResponseParser(self._parts)

    def feed(self, data: bytes) -> None:
        """Accept bytes, or empty bytes at the end of the stream. Raises HttpParserError."""
        self._parts.parser = self._parser
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            raise HttpParserError("the server wants to change the protocol") from None
        finally:
            self._parts.parser = None
        if not data and self._parts.is_head_complete and not self._has_length():
            self._parts.is_complete = True

    def _has_length(self) -> bool:
        """Return whether the head defines where the body ends; otherwise the body ends with the
        connection.
        """
        return any(
            name in (b"content-length", b"transfer-encoding") for name, _ in self._parts.fields
        )

    def is_final(self) -> bool:
        """Return whether the final response, not an interim one (1xx), has arrived completely."""
        return self._parts.is_complete and self._parser.get_status_code() >= 200

    def status(self) -> int:
        return self._parser.get_status_code() if self._parts.is_head_complete else 0

    def should_close(self) -> bool:
        return not self._parts.keeps_alive

    def body(self) -> bytes:
        return bytes(self._parts.body)

    def values(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for one, value in self._parts.fields if one == name]

    def value(self, name: bytes) -> str:
        return next(iter(self.values(name)), "")


class Browser:
    __slots__ = ("_fixed", "_origin", "connection", "cookies")

    def __init__(self, address: ShopAddress, connected: Connected | None = None) -> None:
        """Create a browser without a connection; it calls `connected` after every attempt to
        connect.
        """
        self.connection = Connection(address, connected)
        self.cookies: dict[str, str] = {}
        self._origin = f"{address.scheme}://{address.host_field}"
        self._fixed = (
            f"Host: {address.host_field}\r\n"
            "User-Agent: Mozilla/5.0 (compatible; DoorbusterCustomer/1.0)\r\n"
            "Accept: text/html, image/svg+xml\r\nAccept-Language: en\r\n"
        )

    def close(self) -> None:
        """Leave the shop: close the connection, even during a request."""
        self.connection.close()

    def fetch(
        self, method: str, path: str, form: str | None, attempt: int, patience_s: float
    ) -> Fetched:
        """Request `path` and wait at most `patience_s` real seconds, which may be `inf`.

        `form` is the URL-encoded form of a POST. The patience includes connecting (with the TLS
        handshake), sending, and receiving the whole response. When the patience ends, the
        connection is closed. Faults of the server never raise an error; they determine the outcome.
        """
        request = self._request(method, path, form, attempt)
        timeout = gevent.Timeout(patience_s) if patience_s != float("inf") else None
        if timeout is not None:
            timeout.start()
        try:
            return self._exchange(request)
        except gevent.Timeout as ended:
            if ended is not timeout:
                self.close()
                raise
            self.connection.give_up()
            return Fetched(AttemptOutcome.TIMED_OUT)
        except BaseException:
            self.close()
            raise
        finally:
            if timeout is not None:
                timeout.close()

    def _request(self, method: str, path: str, form: str | None, attempt: int) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\n{self._fixed}X-Doorbuster-Attempt: {attempt}\r\n"
        if self.cookies:
            pairs = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            head += f"Cookie: {pairs}\r\n"
        if form is None:
            return f"{head}\r\n".encode("latin-1")
        body = form.encode("ascii")
        head += (
            f"Origin: {self._origin}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body

    def _exchange(self, request: bytes) -> Fetched:
        connection = self.connection
        kept = connection.is_kept()
        if not kept:
            try:
                connection.open()
            except NotConnectedError as error:
                refused = error.kind is ConnectionKind.REFUSED
                outcome = AttemptOutcome.REFUSED if refused else AttemptOutcome.FAILED
                return Fetched(outcome, reason=str(error))
        response = _Response()
        answered = False
        try:
            connection.send(request)
            while not response.is_final():
                data = connection.receive(_READ_BYTES)
                answered = answered or bool(data)
                response.feed(data)
                if not data and not response.is_final():
                    self.close()
                    lost = self._lost(response, "the connection was closed before the page ended")
                    lost.was_idle = kept and not answered
                    return lost
        except HttpParserError as error:
            self.close()
            return self._lost(response, f"not HTTP, or incomplete: {error}")
        except OSError as error:
            self.close()
            if not (kept or answered or connection.is_secure):
                # The kernel accepted the connection, but it was reset before any byte arrived.
                return Fetched(AttemptOutcome.REFUSED, reason=why(error))
            lost = self._lost(response, why(error))
            lost.was_idle = kept and not answered
            return lost
        if response.should_close():
            self.close()
        self._keep_cookies(response)
        return _judge(response)

    @staticmethod
    def _lost(response: _Response, reason: str) -> Fetched:
        request_id = response.value(b"x-request-id")
        return Fetched(AttemptOutcome.FAILED, response.status(), request_id, reason=reason)

    def _keep_cookies(self, response: _Response) -> None:
        for line in response.values(b"set-cookie"):
            pair, _, attributes = line.partition(";")
            name, _, value = pair.partition("=")
            if not value.strip('" ') or "max-age=0" in attributes.lower():
                self.cookies.pop(name.strip(), None)
            else:
                self.cookies[name.strip()] = value.strip()


def _judge(response: _Response) -> Fetched:
    status = response.status()
    request_id = response.value(b"x-request-id")
    if 200 <= status < 300:
        return Fetched(AttemptOutcome.COMPLETED, status, request_id, response.body())
    verdict = _VERDICTS.get(response.value(b"x-doorbuster-verdict"))
    if status == 503 and verdict is not None:
        return Fetched(verdict, status, request_id)
    return Fetched(AttemptOutcome.FAILED, status, request_id, reason=f"HTTP status {status}")
