"""The detection of outages, in which PostgreSQL or Redis is unavailable or closes connections.

The module recognises the error of an outage, counts the requests that fail because of it, and logs
each of these errors in one line.
"""

import logging

import redis
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import InterfaceError, OperationalError

from shop import activity

POSTGRES, REDIS = "postgres", "redis"
BACK_ENDS = (POSTGRES, REDIS)

# SQLSTATEs of a server that is ending, has crashed, is starting, or accepts no further connections.
_AWAY = ("57P01", "57P02", "57P03", "53300")
_CONNECTION_CLASS = "08"
# Redis's disk is full, or it is a replica of another server.
_REDIS_TAKES_NOTHING = ("MISCONF", "READONLY", "You can't write against a read only replica")


def away(fault: BaseException | None) -> str | None:
    """Return the back end whose outage caused this error, or None for any other error."""
    if isinstance(fault, redis.ConnectionError | redis.TimeoutError | redis.OutOfMemoryError):
        return REDIS
    if isinstance(fault, redis.ResponseError) and str(fault).startswith(_REDIS_TAKES_NOTHING):
        return REDIS
    if isinstance(fault, InterfaceError):  # the driver's error for a closed connection
        return POSTGRES
    if isinstance(fault, OperationalError):
        # None if the error is not from a server. A cancelled query has another SQLSTATE.
        sqlstate = getattr(fault.__cause__, "sqlstate", None)
        if sqlstate is None or sqlstate in _AWAY or sqlstate.startswith(_CONNECTION_CLASS):
            return POSTGRES
    return None


def count(back_end: str) -> None:
    """Count a request that failed because this back end was unavailable."""
    lost = activity.mine().lost_to
    lost[back_end] = lost.get(back_end, 0) + 1


def counts() -> dict[str, int]:
    """Return the number of failed requests since the shop started, by unavailable back end."""
    lost = activity.lost_to()
    return {back_end: lost.get(back_end, 0) for back_end in BACK_ENDS}


class InOneLine(logging.Filter):
    """A log filter that replaces the traceback of an outage or an ended session by one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        fault = record.exc_info[1] if record.exc_info else None
        back_end = away(fault)
        if back_end is not None:
            first = str(fault).strip().partition("\n")[0]
            _put(record, f"{record.getMessage()}: {back_end} is unavailable: {first}")
        # Redis has lost the session, or another page has ended it.
        elif isinstance(fault, SessionInterrupted):
            path = record.args[-1] if isinstance(record.args, tuple) and record.args else ""
            _put(record, f"The session ended while the shop created a page: {path}")
        return True


def _put(record: logging.LogRecord, line: str) -> None:
    record.msg, record.args, record.exc_info, record.exc_text = line, (), None, None
