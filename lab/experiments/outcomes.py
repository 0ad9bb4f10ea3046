"""What a run's attempts say: counts, percentages, revenue.

Owns: the figures that Tables 4 and 5 and revenue efficiency are made of, from attempts alone.
Must not know: which engine made the attempts, how figures are printed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from loadgen.attempts import AttemptOutcome
from loadgen.sessions import CONFIRM_PAGE, PAGES

GROUP = {page: "Browsing" if page.startswith("Br") else page for page in PAGES}
"""The column of Table 4 a page type is counted in."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Attempts of one run by page type and outcome, and the requests its sessions planned."""

    rho: float
    attempts: Mapping[str, Mapping[str, int]]
    """Page type → outcome → attempts; retries are attempts of their own."""
    planned: Mapping[str, int]
    """Page type → requests, if every session completed."""
    sessions: int
    confirms: int
    duration_s: float
    """First arrival to the end of the last session, paper seconds."""

    def generated(self, page: str) -> int:
        """Attempts made for a page, retries included, as Table 4 counts."""
        counts = self.attempts[page]
        return sum(n for outcome, n in counts.items() if outcome != AttemptOutcome.NOT_GENERATED)

    def count(self, outcome: AttemptOutcome) -> int:
        """Attempts of all pages with this outcome."""
        return sum(counts.get(outcome, 0) for counts in self.attempts.values())

    @property
    def completed_ratio(self) -> float:
        """Completed requests over those the sessions would have made."""
        return self.count(AttemptOutcome.COMPLETED) / sum(self.planned.values())

    @property
    def throughput_rps(self) -> float:
        """Completed requests per paper second."""
        return self.count(AttemptOutcome.COMPLETED) / self.duration_s if self.duration_s else 0.0

    @property
    def confirm_bound(self) -> float:
        """The most confirms a policy can reach that cannot know who will buy.

        Above capacity whole sessions are turned away at Br-1 and the rest is finished:
        planned confirms / ρ (design: the capacity bound).
        """
        return self.planned[CONFIRM_PAGE] / max(1.0, self.rho)

    @property
    def revenue_efficiency_ratio(self) -> float | None:
        """Confirms over the capacity bound; None when no session plans to buy."""
        return self.confirms / self.confirm_bound if self.confirm_bound else None

    def table4(self) -> dict[str, dict[str, int]]:
        """Row → column → attempts, in the form of Table 4; `other` is what the paper has not."""
        rows = ("generated", "completed", "timed_out", "dropped", "other")
        table = {row: dict.fromkeys(GROUP.values(), 0) for row in rows}
        for page, counts in self.attempts.items():
            column = GROUP[page]
            table["generated"][column] += self.generated(page)
            for outcome, n in counts.items():
                if outcome != AttemptOutcome.NOT_GENERATED:
                    row = outcome if outcome in rows else "other"
                    table[row][column] += n
        return table

    def table5(self) -> dict[str, float]:
        """Percentages as Table 5 has them.

        In overload the paper divides by the browsing requests of the full sessions (54,480 of its
        57,528); its 100 % at ρ = 0.85 is only possible over all requests. The last row is what is
        left of 100, as in the paper, so retries make it smaller than the share of requests that
        were never asked for. `dropped` takes in all that were turned away or failed.
        """
        counted = [page for page in self.planned if self.rho <= 1 or page.startswith("Br")]
        whole = sum(self.planned[page] for page in counted)
        percent = {
            "completed": 100 * self.count(AttemptOutcome.COMPLETED) / whole,
            "timed_out": 100 * self.count(AttemptOutcome.TIMED_OUT) / whole,
            "dropped": 100 * self._turned_away() / whole,
        }
        return {**percent, "not_generated": 100 - sum(percent.values())}

    def _turned_away(self) -> int:
        return sum(
            self.count(outcome)
            for outcome in (
                AttemptOutcome.DROPPED,
                AttemptOutcome.REJECTED,
                AttemptOutcome.REFUSED,
                AttemptOutcome.FAILED,
            )
        )


def after_warm_up(attempts: pa.Table, warm_up_s: float) -> pa.Table:
    """The attempts of sessions that arrived after `warm_up_s` paper seconds, sessions whole."""
    if warm_up_s == 0:
        return attempts
    first = attempts.filter(pc.equal(attempts.column("step"), 0))
    late = first.filter(pc.greater_equal(first.column("intended_s"), warm_up_s))
    return attempts.filter(pc.is_in(attempts.column("session"), late.column("session").unique()))


def outcomes_of(attempts: pa.Table, rho: float) -> Outcomes:
    """Count a run's attempts."""
    counts: dict[str, Counter[str]] = {page: Counter() for page in PAGES}
    planned: dict[str, set[tuple[int, int]]] = {page: set() for page in PAGES}
    columns = [attempts.column(name).to_pylist() for name in ("session", "step", "page", "outcome")]
    for session, step, page, outcome in zip(*columns, strict=True):
        counts[page][outcome] += 1
        planned[page].add((session, step))
    started = attempts.column("started_s").drop_null().to_numpy()
    finished = attempts.column("finished_s").drop_null().to_numpy()
    return Outcomes(
        rho=rho,
        attempts=counts,
        planned={page: len(requests) for page, requests in planned.items()},
        sessions=len(set(columns[0])),
        confirms=counts[CONFIRM_PAGE][AttemptOutcome.COMPLETED],
        duration_s=float(finished.max() - started.min()) if len(finished) else 0.0,
    )


def response_times_s(attempts: pa.Table, page: str | None = None) -> npt.NDArray[np.float64]:
    """Response times of attempts, infinite for those that never completed.

    Unconditional, as in LIFO-Pri's footnote 1: a timed-out or dropped request counts as infinite.
    """
    table = attempts.filter(pc.not_equal(attempts.column("attempt"), 0))
    if page is not None:
        table = table.filter(pc.equal(table.column("page"), page))
    times = table.column("finished_s").to_numpy() - table.column("started_s").to_numpy()
    completed = np.array(table.column("outcome").to_pylist()) == AttemptOutcome.COMPLETED
    return np.where(completed, times, np.inf)
