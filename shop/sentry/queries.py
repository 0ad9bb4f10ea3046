"""The registration of the running queries of watched requests, so that they can be cancelled."""

import logging
from collections.abc import Callable
from threading import local
from typing import Any

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from . import configuration
from .watch import ClientGone, Watch, current

_logger = logging.getLogger(__name__)

_QUERY_CANCELED = "57014"  # SQLSTATE
_OLDEST_WITH_CHECK = 140_000


def install() -> None:
    """Register the queries of every connection that this process opens from now on."""
    connection_created.connect(_prepare, dispatch_uid="sentry")


class _Local(local):
    installed = False


_local = _Local()


def install_in_thread() -> None:
    """Register the queries of the connections that this thread already has."""
    if not _local.installed:
        for connection in connections.all(initialized_only=True):
            wrap(connection)
        _local.installed = True


def _prepare(sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
    wrap(connection)
    check_s = configuration.read().database_check_s
    if check_s and connection.vendor == "postgresql":
        _check_clients(connection, check_s)


def wrap(connection: BaseDatabaseWrapper) -> None:
    """Register every query of the connection while it runs."""
    # The first wrapper is the outermost; the page's `execute_wrapper()` blocks remove the last one.
    if _run not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, _run)


def _check_clients(connection: Any, check_s: float) -> None:
    """Make PostgreSQL check during a query whether this process is still alive."""
    if connection.connection.info.server_version < _OLDEST_WITH_CHECK:
        return
    try:
        # A cursor of the driver, because a request whose client has left must not skip this.
        with connection.wrap_database_errors, connection.create_cursor() as cursor:
            cursor.execute(
                f"SET client_connection_check_interval = {max(1, round(check_s * 1000))}"
            )
    except DatabaseError as error:  # a server on another system than Linux
        _logger.warning("SENTRY_DATABASE_CHECK_S has no effect: %s", str(error).strip())
        if not connection.get_autocommit():
            connection.rollback()


def _run(execute: Callable[..., Any], *arguments: Any) -> Any:
    """Wrap each `execute` call of a cursor; `arguments` are sql, params, many and context."""
    watch = current()
    if watch is None:
        return execute(*arguments)
    connection = arguments[3]["connection"]
    session = connection.connection
    if not watch.begin_query(session if hasattr(session, "cancel_safe") else None):
        return execute(*arguments)
    try:
        result = execute(*arguments)
    except BaseException as error:
        was_cancelled = getattr(error.__cause__, "sqlstate", None) == _QUERY_CANCELED
        if _end(watch, connection, was_cancelled):
            raise ClientGone from None
        raise
    if _end(watch, connection, False):
        raise ClientGone
    return result


def _end(watch: Watch, connection: Any, was_cancelled: bool) -> bool:
    """Return whether the page must end here, because its query was cancelled or its database
    session closed.

    A query that ended normally does not end the page, because the page must know the query's
    effect, for example a lock, to undo it. The next query or check ends the page.
    """
    ended_by = watch.end_query(was_cancelled)
    if ended_by is not None and ended_by.unconfirmed:
        _discard(connection)
        return True
    return ended_by is not None and was_cancelled


def _discard(connection: Any) -> None:
    """Close the database session. With a connection pool, Django's `close` alone would return the
    session to the pool.
    """
    connection.connection.close()
    connection.close()
