"""The renewal of the seeded contracts, so that the server always has banners.

A renewed contract keeps its id and its deliveries. Its end moves by TERM, and its impressions grow
in proportion. If a contract ended while the server was not running, its start and its end also move
by the time that has passed since its end. Otherwise, the contract would be far behind its schedule.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from shop.ads.models import MOST_IMPRESSIONS, next_revision

AHEAD = timedelta(days=1)  # how long before its end a contract is renewed
TERM = timedelta(days=90)
LOOKED_AFTER_S = 3600.0  # time between two checks, much less than AHEAD


def renew(now: datetime) -> int:
    """Renew the seeded contracts that end within AHEAD, and return their number.

    Several processes may call this at the same time; only one of them renews the contracts.
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
