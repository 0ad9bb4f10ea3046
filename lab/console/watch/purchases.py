"""The part of a frame about the purchases of a live run's customers.

An order counts once its customer has received the confirmation. Orders of visitors and of capacity
measurements never count.
"""

from collections.abc import Mapping
from typing import Any


class Sold:
    """The purchases during the run in progress and during the run before it. The purchases of a run
    stay after its end, with the time of the end.

    When an experiment prepares its first run, the purchases of earlier experiments are removed.
    """

    def __init__(self) -> None:
        self._last: dict[str, Any] | None = None
        self._before: Mapping[str, Any] | None = None

    def look(self, run: Mapping[str, Any] | None, now: float) -> dict[str, Any] | None:
        """Return the purchases for the run `run` (`live_run.UnderWay.told`) at Unix time `now`.

        The purchases have `confirms` and `revenue_cents` since the run began, the `words` of the
        run, and `ended_at` (Unix time; None until the run ends). `before` has the confirms and the
        words of the experiment's previous run; it is None in the first run. The result is None if
        no purchases have been counted.
        """
        if run is None or run.get("between"):
            if self._last is not None and self._last["ended_at"] is None:
                self._last = {**self._last, "ended_at": now}
        elif "run" not in run or run.get("customers") is None:
            self._last = self._before = None
        else:
            if self._last is not None and self._last["words"] != run["words"]:
                self._before = {name: self._last[name] for name in ("confirms", "words")}
            customers = run["customers"]
            self._last = {
                "confirms": customers.get("confirms", 0),
                "revenue_cents": customers.get("revenue_cents", 0),
                "words": run["words"],
                "ended_at": None,
                "before": self._before,
            }
        return self._last
