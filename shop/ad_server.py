"""The client of the ad server, with a deadline for each answer.

Each thread keeps one connection open. The module does not use `http.client`: its time limit applies
to each read separately, so a slow answer could delay a page for ever.
"""

import contextlib
import ipaddress
import socket
import threading
import time

import httptools

from common import hosts

DEADLINE_S = 0.05
ANSWER_BYTES = 64 * 1024


class Failed(Exception):  # noqa: N818
    """The error for a missing, late or invalid answer of the ad server."""


class Refused(Exception):  # noqa: N818
    """The error for a request that the ad server refuses."""


class _Answer:
    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.body = bytearray()
        self.complete = self.keep = False

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.complete = True
        self.keep = self.parser.should_keep_alive()


class _Whereabouts:
    """The IP address of a host, looked up in a side thread, because a name server may be slow."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._is_asking = threading.Lock()
        self._address: str | None = None
        with contextlib.suppress(ValueError):
            self._address = str(ipaddress.ip_address(host))
        self._is_name = self._address is None

    def address(self) -> str:
        """Return the address from the latest successful look-up. Raises Failed until an address is
        found.
        """
        if self._address is None:
            self.look_up()
            raise Failed(f"no address of {self._host} is known yet")
        return self._address

    def look_up(self) -> None:
        """Start a look-up in the background if the host is a name and no look-up is in progress."""
        if self._is_name and self._is_asking.acquire(blocking=False):
            try:
                threading.Thread(target=self._ask, name="ad-server-name", daemon=True).start()
            except RuntimeError:  # the process has too many threads; the next call tries again
                self._is_asking.release()

    def _ask(self) -> None:
        try:
            found = socket.getaddrinfo(self._host, None, type=socket.SOCK_STREAM)
            self._address = str(found[0][4][0])
        except (OSError, UnicodeError):
            pass  # the next call starts another look-up
        finally:
            self._is_asking.release()


class AdServer:
    """A client of one ad server; its deadlines are in real seconds at every time scale."""

    def __init__(self, port: int, deadline_s: float = DEADLINE_S, host: str = "127.0.0.1") -> None:
        self.port = port
        self.deadline_s = deadline_s
        self._whereabouts = _Whereabouts(host)
        self._authority = hosts.authority(host, port)
        self._mine = threading.local()

    def get(self, target: str) -> bytes:
        """Send a GET request for `target`, and return the body of an answer with status 200.

        Raises Refused for a status from 400 to 499, and Failed for any other failure.
        """
        deadline_s = time.monotonic() + self.deadline_s
        question = f"GET {target} HTTP/1.1\r\nHost: {self._authority}\r\n\r\n".encode("ascii")
        # Removed until the answer is complete, so that no call uses a half-read connection.
        kept: socket.socket | None = self._mine.__dict__.pop("connection", None)
        try:
            if kept is not None:
                try:
                    return self._exchange(kept, question, deadline_s)
                except _Closed:
                    kept.close()  # servers close idle connections, so try once more on a new one
            kept = self._connect(deadline_s)
            kept.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self._exchange(kept, question, deadline_s)
        except (OSError, httptools.HttpParserError) as error:
            raise Failed(str(error) or type(error).__name__) from error
        finally:
            if kept is not None and getattr(self._mine, "connection", None) is not kept:
                kept.close()

    def close(self) -> None:
        kept: socket.socket | None = self._mine.__dict__.pop("connection", None)
        if kept is not None:
            kept.close()

    def _connect(self, deadline_s: float) -> socket.socket:
        address = self._whereabouts.address()
        try:
            return socket.create_connection((address, self.port), _left(deadline_s))
        except OSError:
            self._whereabouts.look_up()  # the server's address may have changed
            raise

    def _exchange(self, connection: socket.socket, question: bytes, deadline_s: float) -> bytes:
        answer = _Answer()
        try:
            connection.settimeout(_left(deadline_s))
            connection.sendall(question)
            while not answer.complete:
                connection.settimeout(_left(deadline_s))
                data = connection.recv(65536)
                if not data:
                    raise ConnectionResetError("the ad server closed the connection")
                answer.parser.feed_data(data)
                if len(answer.body) > ANSWER_BYTES:
                    raise Failed(f"the answer has more than {ANSWER_BYTES} bytes")
        except ConnectionError as error:
            raise _Closed(str(error)) from error
        if answer.keep:
            self._mine.connection = connection
        status = answer.parser.get_status_code()
        if 400 <= status < 500:
            raise Refused(f"answered {status}: {bytes(answer.body[:200])!r}")
        if status != 200:
            raise Failed(f"answered {status}")
        return bytes(answer.body)


class _Closed(ConnectionError):  # noqa: N818
    """The error for a connection that the ad server closed before the end of its answer."""


def _left(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("no answer in time")
    return left_s
