"""The rule for delivering a contract evenly over its time. `candidates` applies the rule to all
rows.
"""

import math
from datetime import datetime


def due(impressions: int, starts: datetime, ends: datetime, now: datetime) -> int:
    """Return the number of impressions that an even delivery would have reached by now; the first
    is due at the start.
    """
    elapsed = (now - starts) / (ends - starts)
    return math.ceil(impressions * min(1.0, max(0.0, elapsed)))
