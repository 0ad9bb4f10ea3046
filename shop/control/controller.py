"""The shop's controller, which reports the shop's load and accepts the settings of a run.

The controller serves the calls of docs/controller-api.md on a separate port, in threads of the
shop's process. It must answer even while all workers compete for the interpreter. Therefore, each
connection has a thread, which waits in `recv` and sends an answer with one call of `sendall`. With
this design, an answer waits for the interpreter only once.
"""

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

import httptools
from django.conf import settings
from django.db import close_old_connections, connections

from common.http_api import CallError, Callers, checked
from shop import activity, banners, outages, sentry, sessions
from shop.control import calls, metrics
from shop.page_costs import page_work
from shop.page_costs.back_end import memory
from shop.page_costs.slow_database import slow_database
from shop.stock import shelf_filling

CONNECTIONS = 32
IDLE_S = 300.0
IDLE_BEFORE_A_CALL_S = 30.0
"""The time, in real seconds, after which a connection without an accepted call is closed. Calls in
`_OPEN` do not count as accepted calls.
"""
_BODY_BYTES = 64 * 1024

_logger = logging.getLogger(__name__)


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = MappingProxyType({})


class PortTaken(OSError):  # noqa: N818
    """The error for an address on which the controller cannot listen; its text names the fix."""


def _json(value: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode())


def _refused(error: CallError) -> Answer:
    return _json(error.answer, error.status)._replace(headers=error.headers)


def _status(body: bytes) -> Answer:
    pages = activity.pages()
    return _json(
        {
            "time_s": time.monotonic(),
            "cpu_s": time.process_time(),
            # One interpreter uses at most one CPU.
            "cpus": 1,
            "workers": settings.SHOP_WORKERS,
            "busy_workers": activity.busy_workers(),
            "requests": activity.requests(),
            "orders": activity.orders(),
            "lost_to": outages.counts(),
            "redis_away": memory.losses + sessions.absences(),
            "slow_database": _slowness_json(),
            "books": shelf_filling.size(),
            "pages": {name: asdict(count) for name, count in pages.items()},
            "sentry": {"watching": sentry.watching(), **sentry.snapshot()},
            "settings": _settings_json(),
        }
    )


def _settings_json() -> dict[str, object]:
    return {
        **asdict(page_work.work.settings),
        "sentry": sentry.mode(),
        "ads": banners.banners.wanted,
    }


def _read(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: the body is nested too deeply
        raise CallError("body: must be a JSON object", "body", "a JSON object") from None


def _put_settings(body: bytes) -> Answer:
    wanted = checked(calls.WantedSettings, _read(body))
    if wanted.ads is not None and wanted.ads != banners.banners.wanted:
        banners.banners.want(wanted.ads)
        page_work.work.forget_waits()  # a page with a banner waits longer than a page without
    if wanted.sentry is not None:
        sentry.set_mode(wanted.sentry)
    of_page_work = wanted.model_dump(include=_OF_PAGE_WORK, exclude_unset=True)
    if of_page_work:  # otherwise, the draws would start again from the seed
        page_work.work.configure(replace(page_work.work.settings, **of_page_work))
    return _json(_settings_json())


_OF_PAGE_WORK = {"profile", "time_scale", "seed"}


def _slowness_json() -> dict[str, object]:
    return {"left_s": slow_database.left_s, "times": slow_database.times}


def _put_slow_database(body: bytes) -> Answer:
    slow_database.begin(checked(calls.WantedSlowness, _read(body)).for_s)
    return _json(_slowness_json())


def _put_catalogue(body: bytes) -> Answer:
    wanted = checked(calls.WantedCatalogue, _read(body))
    shelf_filling.resize(wanted.books, _logger.info)
    return _json({"books": wanted.books})


def _reset(body: bytes) -> Answer:
    sessions.SessionStore.clear_expired()
    return _json({"orders_removed": shelf_filling.take_back()})


_CALLS: dict[tuple[str, str], Callable[[bytes], Answer]] = {
    (call.method, call.path): handler
    for call, handler in (
        (calls.HEALTH, lambda _: _json({"status": "ok"})),
        (calls.STATUS, _status),
        (calls.CHANGE_SETTINGS, _put_settings),
        (calls.SLOW_DATABASE, _put_slow_database),
        (calls.RESIZE_CATALOGUE, _put_catalogue),
        (calls.RESET, _reset),
        (calls.ORDERS, lambda _: _json(metrics.orders_in_database())),
        (calls.METRICS, lambda _: Answer(200, metrics.exposition(), metrics.CONTENT_TYPE)),
        (calls.OPENAPI, lambda _: _json(calls.document())),
    )
}


_OPEN = tuple(call.path for call in calls.CALLS if call.is_open)
"""The paths of the calls that need no token; health checks and Prometheus use these calls."""


def _callers() -> Callers:
    token = settings.INNER_TOKEN if settings.INNER_TOKEN_REQUIRED else None
    return Callers.of((settings.INNER_HOST, settings.SHOP_HOST), token)


def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
    """Return the answer to one request; never raise an error."""
    try:
        return _call(method, path.split("?", 1)[0], headers)(body)
    except CallError as refusal:
        return _refused(refusal)
    except Exception:
        _logger.exception("%s %s failed", method, path)
        return _json({"error": "the call failed; the shop's log shows the reason"}, 500)


def _call(method: str, path: str, headers: Mapping[str, str]) -> Callable[[bytes], Answer]:
    callers = _callers()
    callers.check_site(headers.get("host", ""), [headers["origin"]] if "origin" in headers else [])
    if path not in _OPEN:
        callers.check_token([headers.get("authorization", "")])
    call = _CALLS.get((method, path))
    if call is None:
        methods = [known for known, known_path in _CALLS if known_path == path]
        if methods:
            error = f"this path has no method {method}"
            raise CallError(error, "method", ", ".join(methods), 405)
        known_paths = dict.fromkeys(known_path for _, known_path in _CALLS)
        raise CallError("no such call", "path", ", ".join(known_paths), 404)
    # as Django does before each request, because the database may have died
    close_old_connections()
    return call


class _OpenConnections:
    """The open connections, at most CONNECTIONS. At this limit, a new connection replaces the
    oldest connection on which no call has been accepted, so that idle connections cannot keep
    callers out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[_Connection, None] = {}

    def enter(self, connection: "_Connection") -> bool:
        """Add this connection; return False at the limit if no connection may be replaced."""
        with self._lock:
            if len(self._open) >= CONNECTIONS:
                oldest = next((one for one in self._open if one.may_give_way), None)
                if oldest is None:
                    return False
                del self._open[oldest]
                oldest.cut_off()
            self._open[connection] = None
            return True

    def leave(self, connection: "_Connection") -> None:
        with self._lock:
            self._open.pop(connection, None)


class _Connection:
    """A client's connection. httptools calls the `on_…` methods while it parses a request."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._parser = httptools.HttpRequestParser(self)
        self._complete = self._keep = False
        self._is_known = self._is_answering = False
        self._until_s = time.monotonic() + IDLE_BEFORE_A_CALL_S
        self.on_message_begin()

    @property
    def may_give_way(self) -> bool:
        """Whether a new connection may replace this connection."""
        return not self._is_known and not self._is_answering

    def cut_off(self) -> None:
        """End the connection from another thread."""
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def on_message_begin(self) -> None:
        self._path = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > _BODY_BYTES:
            raise ValueError("body too large")

    def on_message_complete(self) -> None:
        self._complete = True
        self._keep = self._parser.should_keep_alive()

    def serve(self) -> None:
        """Answer calls until the client closes the connection or sends nothing for too long."""
        with self._client as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    client.settimeout(self._patience_s())
                    data = client.recv(65536)
                except OSError:  # including TimeoutError
                    return
                if not data:
                    return
                try:
                    self._parser.feed_data(data)
                except httptools.HttpParserUpgrade:
                    # The controller never upgrades: it gives the usual answer and reads no later
                    # bytes. The parser omits the body of a request that offers an upgrade.
                    if self._offers_with_body():
                        refusal = CallError("must be absent if there is a body", "Upgrade", "none")
                        self._send(_refused(refusal), keep=False)
                        return
                    self._keep = False
                except httptools.HttpParserError:
                    error = "the controller cannot read this HTTP request"
                    self._send(_json({"error": error}, 400), keep=False)
                    return
                if self._complete and not self._answer():
                    return

    def _patience_s(self) -> float:
        """Return the time limit for the next bytes. Before the first accepted call, all bytes share
        one limit, so that a client cannot extend it byte by byte.
        """
        if self._is_known:
            return IDLE_S
        return max(0.001, self._until_s - time.monotonic())

    def _offers_with_body(self) -> bool:
        has_body = (
            self._headers.get("content-length", "0") != "0" or "transfer-encoding" in self._headers
        )
        return has_body and "upgrade" in self._headers

    def _answer(self) -> bool:
        self._complete = False
        method = self._parser.get_method().decode()
        path = self._path.decode("latin-1")
        self._is_answering = True
        reply = answer(method, path, self._headers, bytes(self._body))
        self._is_answering = False
        if reply.status < 400 and path.split("?", 1)[0] not in _OPEN:
            self._is_known = True
        return self._send(reply, self._keep)

    def _send(self, reply: Answer, keep: bool) -> bool:
        head = (
            f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
            f"Content-Type: {reply.content_type}\r\nContent-Length: {len(reply.body)}\r\n"
            f"Cache-Control: no-store\r\nConnection: {'keep-alive' if keep else 'close'}\r\n"
            + "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
            + "\r\n"
        )
        try:
            self._client.sendall(head.encode() + reply.body)
        except OSError:
            return False
        return keep


def start(port: int, host: str = "127.0.0.1") -> int:
    """Listen on `port` of `host` and serve in threads; return the port. If `port` is 0, the system
    chooses a free port.

    Raises PortTaken if the controller cannot listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise PortTaken(
            error.errno,
            f"The shop's controller cannot listen on {host}:{port} "
            f"({error.strerror}). Stop the process that listens there, or set "
            "DOORBUSTER_SHOP_CONTROLLER_PORT.",
        ) from error
    listener.listen(64)
    threading.Thread(target=_accept, args=(listener,), name="controller", daemon=True).start()
    bound: int = listener.getsockname()[1]
    return bound


def _accept(listener: socket.socket) -> None:
    places = _OpenConnections()
    while True:
        try:
            client, _ = listener.accept()
        except OSError:  # for example, the process has too many open files
            time.sleep(0.1)
            continue
        connection = _Connection(client)
        if not places.enter(connection):
            client.close()
            continue
        thread = threading.Thread(
            target=_serve, args=(connection, places), name="controller-connection", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the process has too many threads
            places.leave(connection)
            client.close()


def _serve(connection: _Connection, places: _OpenConnections) -> None:
    try:
        connection.serve()
    finally:
        connections.close_all()
        places.leave(connection)
