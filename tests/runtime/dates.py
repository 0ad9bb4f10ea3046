"""A calendar that a test sets."""

import datetime


def in_days(days: int) -> type[datetime.datetime]:
    """Return a `datetime.datetime` that is `days` days ahead."""
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)

    class Then(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Then":
            return cls.fromtimestamp(then.timestamp(), tz)

    return Then
