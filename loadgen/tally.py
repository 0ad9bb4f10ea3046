"""The counts of a run in progress, for one process and for all workers together."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.customers.shop_pages import paid_cents
from loadgen.load_factor import Change
from loadgen.records.attempts import AttemptOutcome
from loadgen.schedule import Lag
from loadgen.workload.sessions import CONFIRM_PAGE

_SUMMED = (
    *("planned", "started", "ended", "confirms", "revenue_cents", "broken"),
    *("attempts", "late_attempts"),
)


@dataclass(slots=True)
class Tally:
    """The counts of one process.

    `started` is the number of sessions that have begun. `ended` is the number of sessions that have
    ended for any reason: completed, given up, or broken off by an error.
    """

    planned: int
    lag: Lag
    started: int = 0
    ended: int = 0
    confirms: int = 0
    revenue_cents: int = 0
    """The sum of the totals on all confirm pages, in cents of the shop's currency."""
    broken: int = 0
    """The number of sessions that ended because of an error in the load generator."""
    outcomes: Counter[str] = field(default_factory=Counter)
    load_changes: list[Change] = field(default_factory=list)

    def saw(self, page: str, outcome: AttemptOutcome, body: bytes = b"") -> None:
        """Count an attempt that ended, or a page that was never requested."""
        self.outcomes[outcome.value] += 1
        if page == CONFIRM_PAGE and outcome is AttemptOutcome.COMPLETED:
            self.confirms += 1
            self.revenue_cents += paid_cents(body)

    def as_counts(self) -> dict[str, Any]:
        """Return the counts, ready for JSON, with lags in real seconds; `behind_s` is the largest
        lag since the last call.
        """
        return {
            "planned": self.planned,
            "started": self.started,
            "ended": self.ended,
            "confirms": self.confirms,
            "revenue_cents": self.revenue_cents,
            "broken": self.broken,
            "outcomes": {outcome.value: self.outcomes[outcome.value] for outcome in AttemptOutcome},
            "attempts": self.lag.attempts,
            "late_attempts": self.lag.late,
            "behind_s": self.lag.take_newest(),
            "max_behind_s": self.lag.max_s,
            "load_changes": [change._asdict() for change in self.load_changes],
        }


def add_up(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine several workers' counts into the counts of one run: sums, and the largest lags."""
    parts = list(parts)
    total: dict[str, Any] = {name: sum(part[name] for part in parts) for name in _SUMMED}
    total["outcomes"] = {
        outcome.value: sum(part["outcomes"][outcome.value] for part in parts)
        for outcome in AttemptOutcome
    }
    # Each process reads the file at a different time, so the lists can differ in length.
    total["load_changes"] = max((part["load_changes"] for part in parts), key=len, default=[])
    for name in ("behind_s", "max_behind_s"):
        total[name] = max((part[name] for part in parts), default=0.0)
    return total
