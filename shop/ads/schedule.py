"""The rule for delivering a contract evenly over its time; `selection.candidates` applies the same
rule to all banners.
"""

import math
from datetime import datetime


def due(impressions: int, starts: datetime, ends: datetime, now: datetime) -> int:
    """Return the number of impressions that an even delivery would have reached at `now`, rounded
    up.
    """
    elapsed = (now - starts) / (ends - starts)
    return math.ceil(impressions * min(1.0, max(0.0, elapsed)))
