"""A calendar of a test's own.

Owns: what `datetime.now` says. Must not know: who asks.
"""

import datetime


def in_days(days: int) -> type[datetime.datetime]:
    """`datetime.datetime` so many days ahead."""
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)

    class Then(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Then":
            return cls.fromtimestamp(then.timestamp(), tz)

    return Then
