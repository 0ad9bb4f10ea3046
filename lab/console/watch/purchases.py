"""What the customers of live runs have bought, as a frame of the watch has it.

The customers themselves count: an order counts once its confirmation was seen. So the orders of
people who visit the shop, and those of a capacity measurement, are never in it, and confirms and
revenue are of the same moment.
"""

from collections.abc import Mapping
from typing import Any


class Sold:
    """The purchases in the run under way; after it those in the last run, with its end.

    Once an experiment prepares its first run, those of earlier experiments are gone.
    """

    def __init__(self) -> None:
        self._last: dict[str, Any] | None = None

    def look(self, run: Mapping[str, Any] | None, now: float) -> dict[str, Any] | None:
        """`run`: as `under_way.UnderWay.told` has it; `now`: Unix time. None where nothing counts.

        `confirms` and `revenue_cents` since the run began, `words` of that run, and `ended_at`
        (Unix time; None while it goes on).
        """
        if run is None or run.get("between"):
            if self._last is not None and self._last["ended_at"] is None:
                self._last = {**self._last, "ended_at": now}
        elif "run" not in run or run.get("customers") is None:
            self._last = None
        else:
            customers = run["customers"]
            self._last = {
                "confirms": customers.get("confirms", 0),
                "revenue_cents": customers.get("revenue_cents", 0),
                "words": run["words"],
                "ended_at": None,
            }
        return self._last
