"""A customer's browser: one TCP connection, cookies, and a patience that ends in a real close.

Owns: sending one request and saying how the attempt ended. The connection is the browser's own:
kept alive between pages, closed at once when the customer leaves. A request is never sent twice
behind the customer's back, as connection pools do: client and gateway count the same attempts.
Must not know: pages, sessions, time scales. Durations are real seconds.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

import gevent
from gevent import socket
from geventhttpclient.response import HTTPParseError, HTTPResponse

from loadgen.attempts import AttemptOutcome

_READ_BYTES = 65536
_VERDICTS = {"dropped": AttemptOutcome.DROPPED, "rejected": AttemptOutcome.REJECTED}


class HostError(ValueError):
    """An address of the shop that customers cannot use; one line."""


@dataclass(frozen=True, slots=True)
class ShopAddress:
    """Where the customers go: what to connect to, and what the `Host` field says."""

    family: int
    peer: tuple[str, int]
    host_field: str

    @classmethod
    def from_url(cls, url: str) -> "ShopAddress":
        """Resolves `http://host[:port]`, once for all customers.

        Raises `HostError` for anything else, and for a name that has no address.
        """
        mend = "give http://host:port, e.g. http://127.0.0.1:8080"
        try:
            parts = urlsplit(url)
            port = parts.port or 80
        except ValueError as error:
            raise HostError(f"--host {url}: {error}; {mend}") from None
        if parts.scheme != "http" or not parts.hostname or parts.path.strip("/"):
            raise HostError(f"--host {url}: not an address of the shop; {mend}")
        try:
            found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise HostError(f"--host {url}: {error.strerror or error}; {mend}") from None
        family, _, _, _, peer = found[0]
        return cls(family, peer, parts.netloc.rpartition("@")[2])


@dataclass(slots=True)
class Fetched:
    """How one attempt ended. `body` is empty unless the outcome is `completed`."""

    outcome: AttemptOutcome
    status: int = 0
    request_id: str = ""
    body: bytes = b""
    reason: str = ""


class _Response(HTTPResponse):
    """The library's parser, fed from a socket that is not its own."""

    def is_final(self) -> bool:
        """True when the whole response came; interim ones (1xx) are not it."""
        return self.message_complete and self.get_code() >= 200

    def body(self) -> bytes:
        return bytes(self._body_buffer)


class Browser:
    """One customer's connection and cookies."""

    __slots__ = ("_address", "_cookies", "_fixed", "_sock")

    def __init__(self, address: ShopAddress) -> None:
        self._address = address
        self._cookies: dict[str, str] = {}
        self._sock: socket.socket | None = None
        self._fixed = (
            f"Host: {address.host_field}\r\n"
            "User-Agent: Mozilla/5.0 (compatible; DoorbusterCustomer/1.0)\r\n"
            "Accept: text/html, image/svg+xml\r\nAccept-Language: en\r\n"
        )

    def close(self) -> None:
        """Leaves: the connection is closed now, whatever is still under way."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    def fetch(
        self, method: str, path: str, form: str | None, attempt: int, patience_s: float
    ) -> Fetched:
        """Asks for `path` and waits at most `patience_s` real seconds, `inf` for ever.

        `form` is the URL-encoded form of a POST. The patience covers connecting, sending and the
        whole response; when it ends the connection is closed at once. Never raises for what the
        other side does: every way to end is an outcome.
        """
        request = self._request(method, path, form, attempt)
        timeout = gevent.Timeout(patience_s) if patience_s != float("inf") else None
        if timeout is not None:
            timeout.start()
        try:
            return self._exchange(method, request)
        except gevent.Timeout as ended:
            self.close()
            if ended is not timeout:
                raise
            return Fetched(AttemptOutcome.TIMED_OUT)
        except BaseException:
            self.close()
            raise
        finally:
            if timeout is not None:
                timeout.close()

    def _request(self, method: str, path: str, form: str | None, attempt: int) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\n{self._fixed}X-Doorbuster-Attempt: {attempt}\r\n"
        if self._cookies:
            pairs = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
            head += f"Cookie: {pairs}\r\n"
        if form is None:
            return f"{head}\r\n".encode("latin-1")
        body = form.encode("ascii")
        head += (
            f"Origin: http://{self._address.host_field}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body

    def _exchange(self, method: str, request: bytes) -> Fetched:
        fresh = not self._connection_is_alive()
        if fresh:
            try:
                self._connect()
            except OSError as error:
                self.close()
                return Fetched(AttemptOutcome.REFUSED, reason=_why(error))
        sock = self._sock
        assert sock is not None
        response = _Response(method)
        answered = False
        try:
            sock.sendall(request)
            while not response.is_final():
                data = sock.recv(_READ_BYTES)
                answered = answered or bool(data)
                response.feed(data)
                if not data and not response.is_final():
                    self.close()
                    return self._lost(response, "the connection was closed before the page ended")
        except HTTPParseError as error:
            self.close()
            return self._lost(response, f"not HTTP or cut short: {error}")
        except OSError as error:
            self.close()
            if fresh and not answered:
                # Accepted by the kernel, reset before anything came: nobody wanted the connection.
                return Fetched(AttemptOutcome.REFUSED, reason=_why(error))
            return self._lost(response, _why(error))
        if response.should_close():
            self.close()
        self._keep_cookies(response)
        return _judge(response)

    def _connect(self) -> None:
        sock = socket.socket(self._address.family, socket.SOCK_STREAM)
        self._sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(self._address.peer)

    def _connection_is_alive(self) -> bool:
        """False when there is no connection, or the server closed the idle one."""
        if self._sock is None:
            return False
        self._sock.settimeout(0)
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            self._sock.settimeout(None)
            return True
        except OSError:
            pass
        # The end of the stream, or bytes nobody asked for: neither can carry the next page.
        self.close()
        return False

    @staticmethod
    def _lost(response: _Response, reason: str) -> Fetched:
        status = response.get_code() if response.headers_complete else 0
        return Fetched(
            AttemptOutcome.FAILED, status, _field(response, "x-request-id"), reason=reason
        )

    def _keep_cookies(self, response: _Response) -> None:
        found = response.get("set-cookie")
        if found is None:
            return
        for line in [found] if isinstance(found, str) else found:
            pair, _, attributes = line.partition(";")
            name, _, value = pair.partition("=")
            if not value.strip('" ') or "max-age=0" in attributes.lower():
                self._cookies.pop(name.strip(), None)
            else:
                self._cookies[name.strip()] = value.strip()


def _judge(response: _Response) -> Fetched:
    status = response.get_code()
    request_id = _field(response, "x-request-id")
    if 200 <= status < 300:
        body = response.body()
        return Fetched(AttemptOutcome.COMPLETED, status, request_id, body)
    verdict = _VERDICTS.get(_field(response, "x-doorbuster-verdict"))
    if status == 503 and verdict is not None:
        return Fetched(verdict, status, request_id)
    return Fetched(AttemptOutcome.FAILED, status, request_id, reason=f"HTTP status {status}")


def _field(response: _Response, name: str) -> str:
    value = response.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else value[0]


def _why(error: OSError) -> str:
    return error.strerror or str(error)
