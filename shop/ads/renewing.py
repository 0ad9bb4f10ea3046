"""Contracts that go on: those that come with the server, so that it never runs out of banners.

Owns: when such a contract is renewed and for how much. Must not know: which contracts these are
(`seeding`), who looks after it (`server` at start, `flushing` from then on).

A renewed contract stays one contract with one count: its end moves on, and its impressions grow by
as much as its rate makes of that time. What is due at this moment stays the same, so nothing is
delivered twice. Time in which it had ended before it was renewed (the server was not running) does
not count as its time: it is moved, or it would be far behind from the first moment.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from shop.ads.models import MOST_IMPRESSIONS, next_revision

AHEAD = timedelta(days=1)  # renewed so long before they end
TERM = timedelta(days=90)
LOOKED_AFTER_S = 3600.0  # between two looks; much less than AHEAD


def renew(now: datetime) -> int:
    """Renew what is about to end. Answers how many contracts that were. Raises DatabaseError.

    Several processes may do so at once: the second finds nothing left to renew.
    """
    about = now + AHEAD
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ads_contract WHERE renews AND ends < %s", [about])
        if not cursor.fetchone()[0]:
            return 0
        values: dict[str, Any] = {
            "now": now,
            "about": about,
            "term": TERM,
            "most": MOST_IMPRESSIONS,
            "revision": next_revision(),
        }
        cursor.execute(
            """
            UPDATE ads_contract
            SET starts = starts + greatest(%(now)s - ends, interval '0'),
                ends = greatest(ends, %(now)s) + %(term)s,
                impressions = least(%(most)s, round(
                    impressions * (1 + extract(epoch FROM %(term)s)
                                       / extract(epoch FROM ends - starts))
                )),
                revision = %(revision)s
            WHERE renews AND ends < %(about)s
            """,
            values,
        )
        return int(cursor.rowcount)
