"""When what is behind the shop is away: PostgreSQL or Redis cannot be reached, or broke off.

Owns: telling these faults from the shop's own, counting the requests they cost, saying them in the
log in one line. Must not know: pages, what a visitor is told.
"""

import logging

import redis
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import InterfaceError, OperationalError

from shop import activity

POSTGRES, REDIS = "postgres", "redis"
BACK_ENDS = (POSTGRES, REDIS)

# SQLSTATEs of a server that ends, has crashed, is starting, or takes nobody more.
_AWAY = ("57P01", "57P02", "57P03", "53300")
_CONNECTION_CLASS = "08"
# Its disk is full, or it follows another server.
_REDIS_TAKES_NOTHING = ("MISCONF", "READONLY", "You can't write against a read only replica")


def away(fault: BaseException | None) -> str | None:
    """Which back end is away, if that is what the fault means; None if it means something else."""
    if isinstance(fault, redis.ConnectionError | redis.TimeoutError | redis.OutOfMemoryError):
        return REDIS
    if isinstance(fault, redis.ResponseError) and str(fault).startswith(_REDIS_TAKES_NOTHING):
        return REDIS
    if isinstance(fault, InterfaceError):  # the driver's own: its connection is closed
        return POSTGRES
    if isinstance(fault, OperationalError):
        # None: no server has said it. A query that was cancelled has a state of its own.
        sqlstate = getattr(fault.__cause__, "sqlstate", None)
        if sqlstate is None or sqlstate in _AWAY or sqlstate.startswith(_CONNECTION_CLASS):
            return POSTGRES
    return None


def count(back_end: str) -> None:
    """A request could not be answered because that back end was away."""
    lost = activity.mine().lost_to
    lost[back_end] = lost.get(back_end, 0) + 1


def counts() -> dict[str, int]:
    """Requests since the shop started that could not be answered, by the back end away."""
    lost = activity.lost_to()
    return {back_end: lost.get(back_end, 0) for back_end in BACK_ENDS}


class InOneLine(logging.Filter):
    """Hundreds of requests meet the same outage: each is a line in the log, without a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        fault = record.exc_info[1] if record.exc_info else None
        back_end = away(fault)
        if back_end is not None:
            first = str(fault).strip().partition("\n")[0]
            _put(record, f"{record.getMessage()}: {back_end} is away: {first}")
        elif isinstance(fault, SessionInterrupted):  # Redis has lost it, or another page ended it
            path = record.args[-1] if isinstance(record.args, tuple) and record.args else ""
            _put(record, f"Session gone while its page was made: {path}")
        return True


def _put(record: logging.LogRecord, line: str) -> None:
    record.msg, record.args, record.exc_info, record.exc_text = line, (), None, None
