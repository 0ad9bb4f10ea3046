"""The rule of an even delivery, which `selection.candidates` applies to all banners."""

import math
from datetime import datetime


def due(impressions: int, starts: datetime, ends: datetime, now: datetime) -> int:
    """Return the impressions that an even delivery has reached at `now`, rounded up."""
    elapsed = (now - starts) / (ends - starts)
    return math.ceil(impressions * min(1.0, max(0.0, elapsed)))
