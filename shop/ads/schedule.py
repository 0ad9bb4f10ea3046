"""The rule of an even delivery, for one contract; `candidates` applies it to all rows at once."""

import math
from datetime import datetime


def due(impressions: int, starts: datetime, ends: datetime, now: datetime) -> int:
    """Return the impressions of an even delivery until now; one is due as soon as it starts."""
    elapsed = (now - starts) / (ends - starts)
    return math.ceil(impressions * min(1.0, max(0.0, elapsed)))
