"""The default values of experiments, which describe the papers' customers and servers.

Durations are paper seconds. The module imports nothing from the project.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# ---- LIFO-Pri, section 3.2.1 ---------------------------------------------------------------------

LIFO_PRI_BUY_PROBABILITY: Final = 0.1
"""The probability of the step Br-4 → Tr-1 in Fig. 1 (`common/page_types.py`)."""
LIFO_PRI_TIMEOUT_S: Final = 8.0
LIFO_PRI_THINK_TIMEOUT_MEAN_S: Final = 12.0
LIFO_PRI_RETRY_PROBABILITY: Final = 0.4
LIFO_PRI_MAX_RETRIES: Final = 5
LIFO_PRI_THINK_TIME_MEAN_S: Final = 0.0
"""The mean pause between pages, which is 0 for LIFO-Pri's customers."""
LIFO_PRI_WORKERS: Final = 30
LIFO_PRI_CPUS: Final = 1

# ---- SBAC, section 4 -----------------------------------------------------------------------------

SBAC_CAPACITY_RPS: Final = 1000.0
SBAC_REJECTION: Final = "ahead"
SBAC_REJECTION_COST: Final = 1.0
"""The cost of a rejection, as a multiple of the mean service time."""

# ---- Connection Sentry, section 4.2; the paper leaves patience, pauses and reloads open ----------

CONNECTION_SENTRY_MIX: Mapping[str, float] = MappingProxyType(
    {"home": 25, "browse": 1, "search": 17, "select": 3, "file": 54}
)
"""The percentage of each request class in Table 2, for a patience of 15 s with the sentry."""

CONNECTION_SENTRY_PER_SET: Final = 9
CONNECTION_SENTRY_PATIENCE_MAX_S: Final = 7.5
CONNECTION_SENTRY_THINK_TIME_MEAN_S: Final = 3.5
CONNECTION_SENTRY_RELOAD_PROBABILITY: Final = 0.75
CONNECTION_SENTRY_AWAY_MEAN_S: Final = 15.0
