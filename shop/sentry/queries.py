"""Queries of watched requests: each is known while it runs, so that it can be cancelled.

Owns: the wrapper around Django's cursors, the side threads that cancel, the check interval.
Must not know: sockets, which page asks.
"""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import Any

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from . import configuration
from .watch import Cancel, Watch, current

_logger = logging.getLogger(__name__)

_QUERY_CANCELED = "57014"  # SQLSTATE
_OLDEST_WITH_CHECK = 140_000
# A cancel takes a few milliseconds; no more of them can be under way than requests are.
_CANCEL_THREADS = 32


def install() -> None:
    """Every connection of this process that is made from now on is known to the sentry."""
    connection_created.connect(_prepare, dispatch_uid="sentry")


class _Local(local):
    installed = False


_local = _Local()


def install_in_thread() -> None:
    """The same for connections that this thread already has."""
    if not _local.installed:
        for connection in connections.all(initialized_only=True):
            _wrap(connection)
        _local.installed = True


def _prepare(sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
    _wrap(connection)
    check_s = configuration.read().database_check_s
    if check_s and connection.vendor == "postgresql":
        _check_clients(connection, check_s)


def _wrap(connection: BaseDatabaseWrapper) -> None:
    # First, so outermost: `execute_wrapper()` blocks of the page end by popping the last.
    if _run not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, _run)


def _check_clients(connection: Any, check_s: float) -> None:
    """The server itself looks, every so often during a query, whether this process still lives."""
    if connection.connection.info.server_version < _OLDEST_WITH_CHECK:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET client_connection_check_interval = {max(1, round(check_s * 1000))}"
            )
    except DatabaseError as error:  # a server that does not run on Linux
        _logger.warning("SENTRY_DATABASE_CHECK_S has no effect: %s", str(error).strip())
        if not connection.get_autocommit():
            connection.rollback()


def _run(execute: Callable[..., Any], *arguments: Any) -> Any:
    """Around each `execute` of a cursor; `arguments` are sql, params, many, context."""
    watch = current()
    if watch is None:
        return execute(*arguments)
    connection = arguments[3]["connection"]
    number = watch.begin_query(getattr(connection.connection, "cancel_safe", None))
    try:
        result = execute(*arguments)
    except BaseException as error:
        _end(watch, number, connection, error)
        raise
    _end(watch, number, connection, None)
    return result


def _end(watch: Watch, number: int, connection: Any, error: BaseException | None) -> None:
    """Raises ClientGone instead of `error`, or of going on, if the page is to stop here."""
    state = getattr(error.__cause__, "sqlstate", None) if error is not None else None
    if watch.end_query(number, state == _QUERY_CANCELED):
        _discard(connection)
    if number and (error is None or isinstance(error, Exception)):
        watch.raise_once()


def _discard(connection: Any) -> None:
    """Close the session for good: with a pool, Django's `close` would only give it back."""
    connection.connection.close()
    connection.close()


class _SideThreads:
    """Where cancels wait for the database, one thread each; started when the first is needed."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._pool = ThreadPoolExecutor(_CANCEL_THREADS, thread_name_prefix="sentry-cancel")

    def cancel(self, watch: Watch, cancel: Cancel) -> None:
        """Cancel the running query of this request."""
        self._pool.submit(_cancel, watch, cancel)


def _cancel(watch: Watch, cancel: Cancel) -> None:
    try:
        watch.cancel(cancel, configuration.read().cancel_timeout_s)
    except Exception:
        _logger.exception("a query could not be cancelled")


side_threads = _SideThreads()
