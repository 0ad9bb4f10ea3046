"""When the impressions of a contract are due.

Owns: the rule of an even delivery, for one contract. Must not know: the database. The search
applies the same rule to all rows at once (`candidates`).
"""

import math
from datetime import datetime


def due(impressions: int, starts: datetime, ends: datetime, now: datetime) -> int:
    """Impressions that an even delivery has made by now; one is due as soon as it starts."""
    elapsed = (now - starts) / (ends - starts)
    return math.ceil(impressions * min(1.0, max(0.0, elapsed)))
