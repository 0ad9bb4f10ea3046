"""A client for HTTP APIs that exchange JSON."""

import http.client
import json
import shutil
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Self
from urllib.parse import urlsplit

_JSON: Final = {"Content-Type": "application/json"}
_Content = str | bytes | IO[bytes] | None


class NoAnswerError(Exception):
    """The error for a missing answer, or a 2xx answer that is not JSON. The message is the reason;
    `__cause__` is the underlying exception.
    """


class RefusedError(Exception):
    """The error for an answer without a status of 2xx; the message is the server's reason."""

    def __init__(self, status: int, reason: str, answer: Any) -> None:
        super().__init__(reason)
        self.status = status
        self.answer = answer
        """The decoded answer; None if it is not JSON."""


class JsonClient:
    """A persistent connection to one server, without a proxy, for one thread at a time."""

    def __init__(self, host: str, port: int, *, timeout_s: float, token: str = "") -> None:
        """Every call sends `token`; `timeout_s` limits each wait for the server."""
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)

    @classmethod
    def at(
        cls, url: str, *, timeout_s: float, token: str = "", authority: Path | None = None
    ) -> Self:
        """Return a client for the server at `http://host:port` or `https://host:port`.

        `authority` is a PEM file with trusted certificates in place of the system's. Raises OSError
        if the file cannot be read.
        """
        parts = urlsplit(url)
        host, is_tls = parts.hostname or "127.0.0.1", parts.scheme == "https"
        client = cls(host, parts.port or (443 if is_tls else 80), timeout_s=timeout_s, token=token)
        if is_tls:
            client._connection = http.client.HTTPSConnection(
                host,
                parts.port or 443,
                timeout=timeout_s,
                context=ssl.create_default_context(cafile=authority),
            )
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Return the decoded answer (`{}` if empty). Raises NoAnswerError or RefusedError."""
        content = None if body is None else json.dumps(body)
        headers = self._headers if body is None else {**self._headers, **_JSON}
        return self._answer(method, path, content, headers)

    def upload(self, path: str, file: IO[bytes], size_bytes: int, kind: str) -> Any:
        """Send a file as the body of a POST; return the answer as `call` does."""
        headers = {"Content-Type": kind, "Content-Length": str(size_bytes)}
        return self._answer("POST", path, file, {**self._headers, **headers})

    def download(self, path: str, to: IO[bytes]) -> None:
        """Write an answer's body to a file. Raises NoAnswerError or RefusedError."""
        with self._closed_on_fault():
            response = self._response("GET", path, None, self._headers)
            if response.status == 200:
                shutil.copyfileobj(response, to)
                return
            text = response.read()
        self._decoded(response, text)

    def _answer(self, method: str, path: str, content: _Content, headers: Mapping[str, str]) -> Any:
        with self._closed_on_fault():
            response = self._response(method, path, content, headers)
            text = response.read()
        return self._decoded(response, text)

    @contextmanager
    def _closed_on_fault(self) -> Iterator[None]:
        """Close the connection after a fault in the block, and raise NoAnswerError."""
        try:
            yield
        except (OSError, http.client.HTTPException) as fault:
            self.close()
            raise NoAnswerError(str(fault) or type(fault).__name__) from fault

    @staticmethod
    def _decoded(response: http.client.HTTPResponse, text: bytes) -> Any:
        is_good = 200 <= response.status < 300
        try:
            answer = json.loads(text or b"{}")
        except ValueError as fault:
            if is_good:
                raise NoAnswerError(str(fault)) from fault
            answer = None
        if is_good:
            return answer
        reason = answer.get("error") if isinstance(answer, dict) else None
        raise RefusedError(response.status, str(reason or response.reason), answer)

    def _response(
        self, method: str, path: str, content: _Content, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        # The server may have closed a kept connection; a new connection is not tried twice.
        if self._connection.sock is not None:
            try:
                self._connection.request(method, path, content, headers)
                return self._connection.getresponse()
            except ConnectionError:  # including http.client.RemoteDisconnected
                self.close()
        self._connection.request(method, path, content, headers)
        return self._connection.getresponse()
