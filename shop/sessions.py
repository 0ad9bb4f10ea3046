"""Sessions in PostgreSQL and Redis; the shop reads them from Redis if possible.

PostgreSQL has the sessions with data that a customer would miss: a cart, a sign-in or a purchase.
All other sessions are only in Redis. Redis may be unavailable or lose all data at any time; the
shop then reads from PostgreSQL.

Redis could return outdated data, such as a sign-in that has ended. Therefore, each entry has an
epoch. The shop starts a new epoch whenever it cannot send a change to Redis, and checks entries of
earlier epochs in PostgreSQL. Only the shop's single process writes to Redis.
"""

import logging
import secrets
import time
from datetime import datetime
from typing import Any, NamedTuple

import redis
from django.contrib.sessions.backends import base, db
from django.core.cache import caches
from django.db import connection
from django.utils import timezone
from django.utils.crypto import get_random_string

from shop import outages

_logger = logging.getLogger(__name__)

_ASK_AGAIN_S = 1.0
"""The real seconds after a failed call during which the shop does not call Redis, because each
call could delay a page.
"""
_VISIT = frozenset({"visit"})

_UPDATE = "UPDATE django_session SET session_data = %s, expire_date = %s WHERE session_key = %s"
_INSERT = """
    INSERT INTO django_session (session_data, expire_date, session_key) VALUES (%s, %s, %s)
    ON CONFLICT (session_key) DO UPDATE
    SET session_data = excluded.session_data, expire_date = excluded.expire_date
"""
_REPLACE = f"WITH gone AS (DELETE FROM django_session WHERE session_key = %s) {_INSERT}"


class _Entry(NamedTuple):
    epoch: str
    data: dict[str, Any]


class SessionCache:
    """The sessions in Redis; after a failed call, there is a pause without calls."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(8)
        self.away_until_s = 0.0
        self.absences = 0

    def get(self, key: str) -> _Entry | None:
        """Return the entry of this session, even from an earlier epoch; None if Redis is
        unavailable or has no entry.
        """
        found = self._ask("get", _name(key))
        return _Entry(*found) if found else None

    def set(self, key: str, data: dict[str, Any], age_s: int) -> None:
        self._tell("set", _name(key), (self.epoch, data), age_s)

    def add(self, key: str, data: dict[str, Any], age_s: int) -> None:
        """Store data from PostgreSQL, unless Redis has received newer data in the meantime."""
        self._ask("add", _name(key), (self.epoch, data), age_s)

    def delete(self, key: str) -> None:
        self._tell("delete", _name(key))

    def _tell(self, *command: Any) -> None:
        if self._ask(*command) is _AWAY:
            self.epoch = secrets.token_hex(8)

    def _ask(self, command: str, *arguments: Any) -> Any:
        """Return Redis's answer, or `_AWAY` if Redis does not answer."""
        if time.monotonic() < self.away_until_s:
            return _AWAY
        try:
            return getattr(caches["default"], command)(*arguments)
        except redis.RedisError as fault:
            if outages.away(fault) is None:
                raise
            self.away_until_s = time.monotonic() + _ASK_AGAIN_S
            self.absences += 1
            first = str(fault).partition("\n")[0]
            _logger.warning("Redis is unavailable; sessions are read from PostgreSQL: %s", first)
            return _AWAY


class _Away:
    def __bool__(self) -> bool:
        return False


_AWAY = _Away()
session_cache = SessionCache()


def absences() -> int:
    """Return the number of times since the start that Redis did not answer."""
    return session_cache.absences


class SessionStore(db.SessionStore):
    """A session. A single SQL statement makes each change of its row in PostgreSQL."""

    _is_in_database = False
    _replaced: str | None = None
    """The key of the old row, which is deleted when the new row is first written."""

    def load(self) -> dict[str, Any]:
        """Return the session's data; if the session does not exist, return empty data and forget
        the key.
        """
        key = self.session_key
        assert key is not None  # otherwise, Django does not call it
        entry = session_cache.get(key)
        if entry is not None and entry.epoch == session_cache.epoch:
            data = entry.data
        else:
            data = self._load_from_database(key, entry)
        self._is_in_database = _matters(data)
        return data

    def create(self) -> None:
        """Begin a session with a new key; Django saves it after the view."""
        self._session_key = self._get_new_session_key()
        self._is_in_database = False
        self.modified = True

    def cycle_key(self) -> None:
        """Continue the session with a new key.

        `save` writes the new row and deletes the old row in one statement, so that no data is lost
        if a sign-in fails.
        """
        data: dict[str, Any] = self._get_session()  # type: ignore[attr-defined] # Django's
        key, was_in_database = self.session_key, self._is_in_database
        self.create()
        self._session_cache = data
        if key and was_in_database:
            self._replaced = key

    def save(self, must_create: bool = False) -> None:
        """Write the session. Raises UpdateError if another request has ended it."""
        data: dict[str, Any] = self._get_session(  # type: ignore[attr-defined] # Django's
            no_load=must_create
        )
        if self.session_key is None:
            self.create()
        assert self.session_key is not None
        if self._is_in_database or _matters(data):
            self._write(data)
        session_cache.set(self.session_key, data, self.get_expiry_age())

    def delete(self, session_key: str | None = None) -> None:
        """End this session, or the session with the given key."""
        key = session_key or self.session_key
        if key is not None:
            self.model.objects.filter(session_key=key).delete()
            session_cache.delete(key)

    def _get_new_session_key(self) -> str:
        """Return a random key, so long that no other session has the same key."""
        return get_random_string(32, base.VALID_KEY_CHARS)

    def _write(self, data: dict[str, Any]) -> None:
        values: list[Any] = [self.encode(data), self.get_expiry_date(), self.session_key]
        statement = _UPDATE if self._is_in_database else _INSERT
        replaced, self._replaced = self._replaced, None
        if replaced is not None:
            statement, values = _REPLACE, [replaced, *values]
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            if cursor.rowcount == 0:
                raise base.UpdateError
        self._is_in_database = True
        if replaced is not None:
            session_cache.delete(replaced)

    def _load_from_database(self, key: str, entry: _Entry | None) -> dict[str, Any]:
        if entry is not None:
            session_cache.delete(key)
        rows = self.model.objects.filter(session_key=key, expire_date__gt=timezone.now())
        row = rows.values_list("session_data", "expire_date").first()
        if row is not None:
            data = self.decode(row[0])
            session_cache.add(key, data, _age_s(row[1]))
        elif entry is not None and not _matters(entry.data):
            data = entry.data
            session_cache.add(key, data, self.get_session_cookie_age())
        else:
            self._session_key = None
            data = {}
        return data


def _name(key: str) -> str:
    return f"session.{key}"


def _matters(data: dict[str, Any]) -> bool:
    """Return whether the customer would miss this data if it were lost."""
    return not data.keys() <= _VISIT


def _age_s(expires: datetime) -> int:
    return max(1, int((expires - timezone.now()).total_seconds()))
