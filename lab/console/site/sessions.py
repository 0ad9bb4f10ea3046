"""Sessions whose keys are stored as digests, so that a copy of the database contains no valid
cookie."""

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends import db
from django.utils import timezone

KEY_LENGTH = 40
"""The length of a stored digest, in hexadecimal digits, which fits Django's column. 40 digits are
160 bits."""


def digest_of(key: str) -> str:
    """Return the text that the database stores instead of this key. A key has at least 165 random
    bits, so it needs neither salt nor a slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()[:KEY_LENGTH]


class SessionStore(db.SessionStore):
    """Django's sessions in the database, stored under the digests of their keys."""

    def _get_session_from_db(self) -> Any:
        return self._known(self._rows().first())

    async def _aget_session_from_db(self) -> Any:
        return self._known(await self._rows().afirst())

    def _rows(self) -> Any:
        assert self.session_key is not None  # without a key Django reads no session
        return self.model.objects.filter(
            session_key=digest_of(self.session_key), expire_date__gt=timezone.now()
        )

    def _known(self, row: Any) -> Any:
        if row is None:
            self._session_key = None  # as Django does: an unknown key is not accepted
        return row

    def exists(self, session_key: str) -> bool:
        return bool(super().exists(digest_of(session_key)))

    async def aexists(self, session_key: str) -> bool:
        return bool(await super().aexists(digest_of(session_key)))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        return _under_digest(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        return _under_digest(await super().acreate_model_instance(data))

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(digest_of(key))

    async def adelete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            await super().adelete(digest_of(key))


def _under_digest(row: Any) -> Any:
    row.session_key = digest_of(row.session_key)
    return row


class MessageStorage(CookieStorage):
    """The storage of messages in a cookie, whose name has the prefix of all console cookies."""

    cookie_name = f"{settings.COOKIES_BEGIN}messages"
