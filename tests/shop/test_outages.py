"""The faults that mean that PostgreSQL or Redis is away, and their lines in the log."""

import logging

import psycopg
import pytest
import redis
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import DataError, InterfaceError, OperationalError

from shop.outages import InOneLine, away


def of_the_driver(cause):
    """Return Django's exception, as it wraps the driver's."""
    wrapped = OperationalError(str(cause))
    wrapped.__cause__ = cause
    return wrapped


@pytest.mark.parametrize(
    ("fault", "back_end"),
    [
        (of_the_driver(psycopg.OperationalError("connection refused")), "postgres"),
        (of_the_driver(psycopg.errors.AdminShutdown("terminating connection")), "postgres"),
        (of_the_driver(psycopg.errors.CrashShutdown("another process crashed")), "postgres"),
        (of_the_driver(psycopg.errors.CannotConnectNow("starting up")), "postgres"),
        (of_the_driver(psycopg.errors.TooManyConnections("too many clients")), "postgres"),
        (of_the_driver(psycopg.errors.ConnectionFailure("lost")), "postgres"),
        (InterfaceError("the connection is closed"), "postgres"),
        (redis.ConnectionError("refused"), "redis"),
        (redis.exceptions.BusyLoadingError("loading"), "redis"),
        (redis.TimeoutError("slow"), "redis"),
        (redis.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "redis"),
        (redis.ResponseError("MISCONF Errors writing to the AOF file"), "redis"),
        (of_the_driver(psycopg.errors.QueryCanceled("by the sentry")), None),
        (of_the_driver(psycopg.errors.DeadlockDetected("deadlock")), None),
        (DataError("too long"), None),
        (redis.ResponseError("WRONGTYPE"), None),
        (RuntimeError("broken"), None),
        (None, None),
    ],
)
def test_who_is_away(fault, back_end):
    assert away(fault) == back_end


def record_of(fault):
    try:
        raise fault
    except Exception as raised:
        info = (type(raised), raised, raised.__traceback__)
    return logging.LogRecord(
        "django.request", logging.ERROR, __file__, 1, "%s: %s", ("Service Unavailable", "/"), info
    )


def test_an_outage_is_a_line():
    record = record_of(redis.ConnectionError("Error 111\nConnection refused."))
    assert InOneLine().filter(record)
    assert logging.Formatter("%(message)s").format(record) == (
        "Service Unavailable: /: redis is unavailable: Error 111"
    )


def test_a_session_that_went_is_a_line():
    record = record_of(SessionInterrupted("The user may have logged out in a concurrent request"))
    assert InOneLine().filter(record)
    assert logging.Formatter("%(message)s").format(record) == (
        "The session ended while the shop created a page: /"
    )


def test_a_fault_of_the_shop_keeps_its_traceback():
    record = record_of(RuntimeError("broken"))
    assert InOneLine().filter(record)
    assert "Traceback" in logging.Formatter("%(message)s").format(record)
