"""What a run's attempts say: counts, percentages, revenue, what became of sessions.

Owns: the figures that Tables 4 and 5, revenue efficiency and the session table are made of, from
attempts alone. Must not know: which engine made the attempts, how figures are printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from loadgen.attempts import AttemptOutcome
from loadgen.sessions import CONFIRM_PAGE, PAGES

GROUP = {page: "Browsing" if page.startswith("Br") else page for page in PAGES}
"""The column of Table 4 a page type is counted in."""


@dataclass(frozen=True, slots=True)
class SessionFates:
    """What became of a run's sessions, as wholes (SBAC's measure)."""

    arrived: int
    rejected: int
    """Turned away with a page at their very first attempt, by admission or by the policy itself."""
    completed: int
    """Every request they planned was answered in time."""
    completed_requests: int
    """Requests of the completed ones."""

    @property
    def admitted(self) -> int:
        """Those that were not turned away at once."""
        return self.arrived - self.rejected

    @property
    def aborted(self) -> int:
        """Admitted and not completed: timed out, dropped, failed, rejected at a later attempt."""
        return self.admitted - self.completed

    @property
    def aborted_of_admitted_ratio(self) -> float | None:
        """None when nobody was admitted."""
        return self.aborted / self.admitted if self.admitted else None

    @property
    def completed_of_admitted_ratio(self) -> float | None:
        """None when nobody was admitted."""
        return self.completed / self.admitted if self.admitted else None

    @property
    def completed_ratio(self) -> float:
        """Completed sessions over all that came."""
        return self.completed / self.arrived if self.arrived else 0.0

    @property
    def mean_completed_length(self) -> float | None:
        """Mean requests of the completed sessions; None when none completed."""
        return self.completed_requests / self.completed if self.completed else None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Attempts of one run by page type and outcome, and the requests its sessions planned."""

    rho: float | None
    """None in a closed loop."""
    attempts: Mapping[str, Mapping[str, int]]
    """Page type (of clients `file` too) → outcome → attempts; retries are attempts of their own."""
    planned: Mapping[str, int]
    """Page type → requests, if every session completed."""
    fates: SessionFates
    confirms: int
    duration_s: float
    """First arrival to the end of the last session, paper seconds."""
    arrivals_s: float = 0.0
    """First arrival to the last, paper seconds."""
    useful_in_arrivals: int = 0
    """Requests of sessions that completed which were answered by the last arrival."""
    lost_worth_ratio: float | None = None
    """Σ V(page at which a session failed) / Σ V(first page), V(page) = probability that a request
    of this page leads to a confirm if all goes well; None when no session plans to buy."""
    reachable_ratio: float | None = None
    """The share of planned confirms that can be reached, by the linear program of the chain; None:
    1 / max(1, ρ), which it is for LIFO-Pri's."""

    @property
    def sessions(self) -> int:
        """Sessions that arrived."""
        return self.fates.arrived

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
    def timed_out_ratio(self) -> float:
        """Attempts that timed out over the requests the sessions would have made."""
        return self.count(AttemptOutcome.TIMED_OUT) / sum(self.planned.values())

    @property
    def turned_away_ratio(self) -> float:
        """Attempts rejected, dropped, refused or failed, over the same."""
        return self._turned_away() / sum(self.planned.values())

    @property
    def throughput_rps(self) -> float:
        """Completed requests per paper second of the whole run, to the end of its last session."""
        return self.count(AttemptOutcome.COMPLETED) / self.duration_s if self.duration_s else 0.0

    @property
    def useful_rps(self) -> float:
        """Requests of sessions that completed, per paper second while sessions arrived (SBAC's
        useful work): after the last arrival the longest session sets the time, another one for each
        policy."""
        return self.useful_in_arrivals / self.arrivals_s if self.arrivals_s else 0.0

    @property
    def useful_ratio(self) -> float | None:
        """Share of them in all that were answered in time; None when nothing was."""
        answered = self.count(AttemptOutcome.COMPLETED)
        return self.fates.completed_requests / answered if answered else None

    @property
    def confirm_bound(self) -> float:
        """The most confirms a policy can reach that cannot know who will buy.

        Of LIFO-Pri's chain whole sessions are turned away at Br-1 above capacity and the rest is
        finished: planned confirms / ρ (design: the capacity bound).
        """
        return self.planned[CONFIRM_PAGE] * self._reachable_ratio

    @property
    def revenue_efficiency_ratio(self) -> float | None:
        """Confirms over the capacity bound; None when no session plans to buy."""
        return self.confirms / self.confirm_bound if self.confirm_bound else None

    @property
    def estimated_efficiency_ratio(self) -> float | None:
        """Revenue efficiency by what the failed sessions were worth, not by who bought by chance.

        (1 − Σ V(page at which a session failed) / Σ V(first page)) × confirms planned / bound. Its
        expectation is that of confirms / bound as long as nobody can know who will buy, and it
        scatters far less: each session counts, not only the 2.7 % that buy.
        """
        if self.lost_worth_ratio is None:
            return None
        return (1.0 - self.lost_worth_ratio) / self._reachable_ratio

    @property
    def _reachable_ratio(self) -> float:
        return self.reachable_ratio or 1.0 / max(1.0, self.rho or 0.0)

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
        57,528); its 100 % at ρ = 0.85 is only possible over all requests. `not_generated` is what
        is left of 100, as in the paper: retries, which are counted and were not planned, make it
        smaller than `never_asked_for`, the share of those requests that customers never sent, and
        may make it negative. `dropped` takes in all that were turned away or failed.
        """
        counted = [page for page in self.planned if (self.rho or 0.0) <= 1 or page.startswith("Br")]
        whole = sum(self.planned[page] for page in counted)
        percent = {
            "completed": 100 * self.count(AttemptOutcome.COMPLETED) / whole,
            "timed_out": 100 * self.count(AttemptOutcome.TIMED_OUT) / whole,
            "dropped": 100 * self._turned_away() / whole,
        }
        never = sum(self.attempts[page].get(AttemptOutcome.NOT_GENERATED, 0) for page in counted)
        return {
            **percent,
            "not_generated": 100 - sum(percent.values()),
            "never_asked_for": 100 * never / whole,
        }

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
    # Of the first page the first attempt: a retry comes later than its session.
    is_arrival = pc.and_(
        pc.equal(attempts.column("step"), 0), pc.equal(attempts.column("attempt"), 1)
    )
    first = attempts.filter(is_arrival)
    late = first.filter(pc.greater_equal(first.column("intended_s"), warm_up_s))
    return attempts.filter(pc.is_in(attempts.column("session"), late.column("session").unique()))


def started_after(attempts: pa.Table, warm_up_s: float) -> pa.Table:
    """The attempts that were begun after `warm_up_s` paper seconds: the warm-up of a closed loop,
    whose sessions never end."""
    return attempts.filter(pc.greater_equal(attempts.column("started_s"), warm_up_s))


def outcomes_of(
    attempts: pa.Table, rho: float | None, reachable_ratio: float | None = None
) -> Outcomes:
    """Count a run's attempts."""
    counts: dict[str, dict[str, int]] = {page: {} for page in PAGES}
    for page, outcome, n in _groups(attempts, "page", "outcome"):
        counts.setdefault(page, {})[outcome] = n
    planned = dict(_groups(_first_attempts(attempts), "page"))
    started = attempts.column("started_s").drop_null().to_numpy()
    finished = attempts.column("finished_s").drop_null().to_numpy()
    arrivals_s = _arrivals_s(attempts)
    return Outcomes(
        rho=rho,
        attempts=counts,
        planned={page: planned.get(page, 0) for page in counts},
        fates=session_fates(attempts),
        confirms=counts[CONFIRM_PAGE].get(AttemptOutcome.COMPLETED, 0),
        duration_s=float(finished.max() - started.min()) if len(finished) else 0.0,
        arrivals_s=float(np.ptp(arrivals_s)) if len(arrivals_s) else 0.0,
        useful_in_arrivals=_useful_by(attempts, arrivals_s.max()) if len(arrivals_s) else 0,
        lost_worth_ratio=None if rho is None else _lost_worth_ratio(attempts),
        reachable_ratio=reachable_ratio,
    )


def _lost_worth_ratio(attempts: pa.Table) -> float | None:
    sessions, of_session = np.unique(attempts.column("session").to_numpy(), return_inverse=True)
    is_planned = attempts.column("attempt").to_numpy() <= 1
    completed = np.bincount(of_session[is_outcome(attempts, AttemptOutcome.COMPLETED)],
                            minlength=len(sessions))  # fmt: skip
    session, step = of_session[is_planned], attempts.column("step").to_numpy()[is_planned]
    page = attempts.column("page").to_numpy(zero_copy_only=False)[is_planned]
    buys = np.zeros(len(sessions), dtype=bool)
    buys[session[page == CONFIRM_PAGE]] = True
    if not buys.any():
        return None
    names, of_page = np.unique(page, return_inverse=True)
    worth = np.bincount(of_page, weights=buys[session]) / np.bincount(of_page)
    failed_here = step == completed[session]  # the first page that the session did not get
    lost = np.bincount(of_page[failed_here], minlength=len(names)) @ worth
    at_first = worth[of_page[step == 0]].sum()
    return float(lost / at_first) if at_first else None


def _arrivals_s(attempts: pa.Table) -> npt.NDArray[np.float64]:
    """When each session was to arrive."""
    first = _first_attempts(attempts)
    arrived = first.filter(pc.equal(first.column("step"), 0)).column("intended_s")
    return arrived.drop_null().to_numpy()  # type: ignore[no-any-return]


def _useful_by(attempts: pa.Table, time_s: float) -> int:
    """Requests of sessions that completed which were answered by `time_s`, paper seconds."""
    of_session, length, completed = _lengths(attempts)
    whole = length == completed
    is_over = attempts.column("finished_s").to_numpy() <= time_s  # of no answer: nan, not over
    answered = is_outcome(attempts, AttemptOutcome.COMPLETED) & is_over
    return int(np.count_nonzero(answered & whole[of_session]))


def _lengths(
    attempts: pa.Table,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(of each attempt its session's place, of each session its requests planned, completed)."""
    sessions, of_session = np.unique(attempts.column("session").to_numpy(), return_inverse=True)
    is_planned = attempts.column("attempt").to_numpy() <= 1
    is_completed = is_outcome(attempts, AttemptOutcome.COMPLETED)
    planned = np.bincount(of_session[is_planned], minlength=len(sessions))
    return of_session, planned, np.bincount(of_session[is_completed], minlength=len(sessions))


def session_fates(attempts: pa.Table) -> SessionFates:
    """What became of the sessions."""
    _, length, completed = _lengths(attempts)
    is_planned = attempts.column("attempt").to_numpy() <= 1
    is_first = (attempts.column("step").to_numpy() == 0) & is_planned
    whole = length == completed
    return SessionFates(
        arrived=len(length),
        rejected=int(np.count_nonzero(is_first & is_outcome(attempts, AttemptOutcome.REJECTED))),
        completed=int(np.count_nonzero(whole)),
        completed_requests=int(length[whole].sum()),
    )


def completed_by(attempts: pa.Table, time_s: float) -> int:
    """Sessions that had got everything they planned by `time_s`, paper seconds."""
    sessions, of_session = np.unique(attempts.column("session").to_numpy(), return_inverse=True)
    is_planned = attempts.column("attempt").to_numpy() <= 1
    is_over = attempts.column("finished_s").to_numpy() <= time_s  # of no answer: nan, not over
    is_completed = is_outcome(attempts, AttemptOutcome.COMPLETED) & is_over
    length = np.bincount(of_session[is_planned], minlength=len(sessions))
    completed = np.bincount(of_session[is_completed], minlength=len(sessions))
    return int(np.count_nonzero(length == completed))


def _first_attempts(attempts: pa.Table) -> pa.Table:
    """A row per request that was planned: its first attempt, or that it was never asked for."""
    return attempts.filter(pc.less_equal(attempts.column("attempt"), 1))


def _groups(table: pa.Table, *keys: str) -> list[tuple[Any, ...]]:
    """Each combination of `keys` that occurs, and how often."""
    rows = table.group_by(list(keys)).aggregate([([], "count_all")]).to_pylist()
    return [(*(row[key] for key in keys), row["count_all"]) for row in rows]


def is_outcome(attempts: pa.Table, outcome: AttemptOutcome) -> npt.NDArray[np.bool_]:
    """A value per row: whether the attempt ended so."""
    found = pc.equal(attempts.column("outcome"), outcome.value)
    return found.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def response_times_s(attempts: pa.Table, page: str | None = None) -> npt.NDArray[np.float64]:
    """Response times of attempts, infinite for those that never completed.

    Unconditional, as in LIFO-Pri's footnote 1: a timed-out or dropped request counts as infinite.
    """
    table = attempts.filter(pc.not_equal(attempts.column("attempt"), 0))
    if page is not None:
        table = table.filter(pc.equal(table.column("page"), page))
    times = table.column("finished_s").to_numpy() - table.column("started_s").to_numpy()
    return np.where(is_outcome(table, AttemptOutcome.COMPLETED), times, np.inf)
