"""The outcomes of a run, calculated from its attempts: counts, ratios, revenue and the fates of
sessions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.analysis.bound import CapacityBound
from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.sessions import CONFIRM_PAGE, PAGES

GROUP = {page: "Browsing" if page.startswith("Br") else page for page in PAGES}
"""The column of LIFO-Pri's Table 4 for each page type."""
_TURNED_AWAY = (
    AttemptOutcome.DROPPED,
    AttemptOutcome.REJECTED,
    AttemptOutcome.REFUSED,
    AttemptOutcome.FAILED,
)


@dataclass(frozen=True, slots=True)
class SessionFates:
    """The number of a run's sessions with each fate; FATES_MEANING explains the fates."""

    arrived: int
    rejected: int
    never_let_in: int
    completed: int
    completed_requests: int
    """The number of requests of the completed sessions."""

    @property
    def lost(self) -> int:
        """The number of sessions that were lost after being let in."""
        return self.arrived - self.rejected - self.never_let_in - self.completed

    @property
    def completed_of_let_in_ratio(self) -> float | None:
        """The completed share of the sessions that got a page; None without such sessions."""
        let_in = self.completed + self.lost
        return self.completed / let_in if let_in else None

    @property
    def mean_completed_length(self) -> float | None:
        """The mean number of requests of the completed sessions; None if no session completed."""
        return self.completed_requests / self.completed if self.completed else None

    def share(self, fate: str) -> float:
        """Return the share of all arrived sessions that had this fate, one of FATES."""
        number: int = getattr(self, fate)
        return number / self.arrived if self.arrived else 0.0


FATES = {
    "completed": "completed",
    "lost": "lost after being let in",
    "never_let_in": "never let in",
    "rejected": "rejected at once",
}
"""The names of the fates of sessions, in the order that pages use."""
FATES_MEANING = (
    "Each session has one of four fates. Completed: all planned requests were answered in time. "
    "Lost after being let in: the session got at least one page of the shop, but not all planned "
    "pages. Rejected at once: the first attempt got a rejection page, and no later attempt got a "
    "page of the shop. Never let in: the session got no page of the shop for another reason. Its "
    "attempts timed out, failed, or were dropped, refused or (after the first attempt) rejected."
)
"""The explanation of FATES that tables and pages print."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One run's attempts by page type and outcome, and the requests that its sessions planned."""

    rho: float | None
    """The offered load; None in a closed loop."""
    attempts: Mapping[str, Mapping[str, int]]
    """The number of attempts by page type (including `file`) and outcome. Each retry is a separate
    attempt; a request that was never sent has the outcome `not_generated`."""
    planned: Mapping[str, int]
    """The number of requests by page type that would be made if every session completed."""
    fates: SessionFates
    confirms: int
    duration_s: float
    """The time from the first arrival to the end of the last session, in paper seconds."""
    arrivals_s: float = 0.0
    """The time from the first arrival to the last arrival, in paper seconds."""
    useful_in_arrivals: int = 0
    """The number of requests of completed sessions that were answered before the last arrival."""
    expected_confirm_ratio: float | None = None
    """The expected confirms divided by the planned confirms, if the shop serves the same share of
    the requests for each page as in this run. None in a closed loop, or if no session plans to buy.
    """
    reachable_ratio: float | None = None
    """The share of the planned confirms that this run's capacity bound allows; None if no capacity
    is known, as in a closed loop.
    """
    lasting_ratio: float | None = None
    """The share of the planned confirms that the bound would allow if the server stopped at the
    last arrival."""
    undisturbed_ratio: float = 1.0
    """The time from the first arrival until an attempt first ended without completing, as a share
    (0 to 1) of the time with arrivals; 1 if all attempts completed.
    """

    @property
    def sessions(self) -> int:
        """The number of sessions that arrived."""
        return self.fates.arrived

    def generated(self, page: str) -> int:
        """Return the number of attempts for a page, including retries, as in LIFO-Pri's Table 4."""
        counts = self.attempts[page]
        return sum(n for outcome, n in counts.items() if outcome != AttemptOutcome.NOT_GENERATED)

    def count(self, outcome: AttemptOutcome) -> int:
        """Return the number of attempts with this outcome, for all pages together."""
        return sum(counts.get(outcome, 0) for counts in self.attempts.values())

    @property
    def completed_ratio(self) -> float:
        """The completed requests divided by the planned requests of all sessions."""
        return self._ratio(AttemptOutcome.COMPLETED)

    @property
    def timed_out_ratio(self) -> float:
        """The timed-out attempts divided by the planned requests of all sessions."""
        return self._ratio(AttemptOutcome.TIMED_OUT)

    @property
    def turned_away_ratio(self) -> float:
        """The rejected, dropped, refused and failed attempts divided by all planned requests."""
        return self._ratio(*_TURNED_AWAY)

    def _ratio(self, *outcomes: AttemptOutcome) -> float:
        return sum(map(self.count, outcomes)) / sum(self.planned.values())

    @property
    def throughput_rps(self) -> float:
        """Completed requests per paper second, from the first arrival to the last session's end."""
        return self.count(AttemptOutcome.COMPLETED) / self.duration_s if self.duration_s else 0.0

    @property
    def useful_rps(self) -> float:
        """Requests of completed sessions per paper second of arrivals (SBAC's useful work). The
        time after the last arrival does not count, because its length depends on the longest
        session."""
        return self.useful_in_arrivals / self.arrivals_s if self.arrivals_s else 0.0

    @property
    def useful_ratio(self) -> float | None:
        """The requests of completed sessions divided by all answered requests; None if no request
        was answered."""
        answered = self.count(AttemptOutcome.COMPLETED)
        return self.fates.completed_requests / answered if answered else None

    @property
    def confirm_bound(self) -> float | None:
        """The number of confirms that the bound allows in this run (docs/bound.md); None if no
        capacity is known.
        """
        if self.reachable_ratio is None:
            return None
        return self.planned[CONFIRM_PAGE] * self.reachable_ratio

    @property
    def revenue_efficiency_ratio(self) -> float | None:
        """The confirms divided by the capacity bound; None if the bound is unknown or 0."""
        return self.confirms / self.confirm_bound if self.confirm_bound else None

    @property
    def estimated_efficiency_ratio(self) -> float | None:
        """The expected confirms divided by the capacity bound; None if the bound is unknown or 0,
        or if no session plans to buy. The ratio has the same mean as confirms / bound, but varies
        far less by chance. It uses all served pages, not only the purchases of 2.7 % of the
        sessions."""
        if self.expected_confirm_ratio is None or not self.reachable_ratio:
            return None
        return self.expected_confirm_ratio / self.reachable_ratio

    def table4(self) -> dict[str, dict[str, int]]:
        """Return the attempts by row and column, in the form of LIFO-Pri's Table 4; the row `other`
        is not in the paper.
        """
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
        """Return the percentages of LIFO-Pri's Table 5.

        In overload, the paper's percentages are shares of the planned browsing requests (54,480 of
        57,528 planned requests). At ρ = 0.85, the paper must have divided by all planned requests,
        because its percentage of completed requests is 100.

        `not_generated` is the remainder to 100, as in the paper. Retries are not planned, so
        `not_generated` can be smaller than `never_asked_for`, and negative. `never_asked_for` is
        the share of the planned requests that customers never sent. `dropped` includes all
        rejected, refused and failed attempts.
        """
        counted = [page for page in self.planned if (self.rho or 0.0) <= 1 or page.startswith("Br")]
        whole = sum(self.planned[page] for page in counted)
        percent = {
            "completed": 100 * self.count(AttemptOutcome.COMPLETED) / whole,
            "timed_out": 100 * self.count(AttemptOutcome.TIMED_OUT) / whole,
            "dropped": 100 * sum(map(self.count, _TURNED_AWAY)) / whole,
        }
        never = sum(self.attempts[page].get(AttemptOutcome.NOT_GENERATED, 0) for page in counted)
        return {
            **percent,
            "not_generated": 100 - sum(percent.values()),
            "never_asked_for": 100 * never / whole,
        }


def after_warm_up(attempts: pa.Table, warm_up_s: float) -> pa.Table:
    """Return the attempts of all sessions that arrived after `warm_up_s` paper seconds."""
    if warm_up_s == 0:
        return attempts
    # The first attempt for the first page marks the arrival; a retry comes later.
    is_arrival = pc.and_(
        pc.equal(attempts.column("step"), 0), pc.equal(attempts.column("attempt"), 1)
    )
    first = attempts.filter(is_arrival)
    late = first.filter(pc.greater_equal(first.column("intended_s"), warm_up_s))
    return attempts.filter(pc.is_in(attempts.column("session"), late.column("session").unique()))


def started_after(attempts: pa.Table, warm_up_s: float) -> pa.Table:
    """Return the attempts of a closed loop that began after `warm_up_s` paper seconds."""
    return attempts.filter(pc.greater_equal(attempts.column("started_s"), warm_up_s))


def outcomes_of(
    attempts: pa.Table, rho: float | None, bound: CapacityBound | None = None
) -> Outcomes:
    """Return the outcomes of a run's attempts; `bound` is None if no capacity is known."""
    counts: dict[str, dict[str, int]] = {page: {} for page in PAGES}
    for page, outcome, n in _groups(attempts, "page", "outcome"):
        counts.setdefault(page, {})[outcome] = n
    planned = dict.fromkeys(counts, 0) | dict(_groups(_first_attempts(attempts), "page"))
    started = attempts.column("started_s").drop_null().to_numpy()
    finished = attempts.column("finished_s").drop_null().to_numpy()
    arrivals_s = _arrivals_s(attempts)
    open_for_s = float(np.ptp(arrivals_s)) if len(arrivals_s) else 0.0
    return Outcomes(
        rho=rho,
        attempts=counts,
        planned=planned,
        fates=session_fates(attempts),
        confirms=counts[CONFIRM_PAGE].get(AttemptOutcome.COMPLETED, 0),
        duration_s=float(finished.max() - started.min()) if len(finished) else 0.0,
        arrivals_s=open_for_s,
        useful_in_arrivals=_useful_by(attempts, arrivals_s.max()) if len(arrivals_s) else 0,
        expected_confirm_ratio=None if rho is None else _expected_confirm_ratio(attempts),
        reachable_ratio=bound and bound.reachable_ratio(planned, _working_s(attempts, arrivals_s)),
        lasting_ratio=bound and bound.reachable_ratio(planned, open_for_s),
        undisturbed_ratio=_undisturbed_ratio(attempts, arrivals_s),
    )


def _working_s(attempts: pa.Table, arrivals_s: npt.NDArray[np.float64]) -> float:
    """Return the time from the first arrival to the last answer or arrival, whichever is later."""
    if not len(arrivals_s):
        return 0.0
    answered = attempts.filter(pa.array(is_outcome(attempts, AttemptOutcome.COMPLETED)))
    ends_s = answered.column("finished_s").to_numpy()
    return float(max(ends_s.max(initial=0.0), arrivals_s.max()) - arrivals_s.min())


def _undisturbed_ratio(attempts: pa.Table, arrivals_s: npt.NDArray[np.float64]) -> float:
    is_made = attempts.column("attempt").to_numpy() > 0
    is_lost = is_made & ~is_outcome(attempts, AttemptOutcome.COMPLETED)
    lost_s = attempts.column("finished_s").to_numpy()[is_lost]
    lost_s = lost_s[np.isfinite(lost_s)]
    if not len(lost_s) or not len(arrivals_s) or not np.ptp(arrivals_s):
        return 1.0
    since = (lost_s.min() - arrivals_s.min()) / np.ptp(arrivals_s)
    return float(np.clip(since, 0.0, 1.0))


def _expected_confirm_ratio(attempts: pa.Table) -> float | None:
    """Return the expected confirms, calculated from the served shares, divided by the planned
    confirms.

    The shop served the share s_p of the sessions that came to page p. P(p → q) is the share of the
    planned requests for page p after which the session plans page q. The expected number of
    sessions that come to page q is a_q = start_q + Σ_p a_p s_p P(p → q). The only assumption is
    that a policy does not know which customers will continue.
    """
    of_session, _, completed = _lengths(attempts)
    is_planned = attempts.column("attempt").to_numpy() <= 1
    session, step = of_session[is_planned], attempts.column("step").to_numpy()[is_planned]
    names, page = np.unique(
        attempts.column("page").to_numpy(zero_copy_only=False)[is_planned], return_inverse=True
    )
    if CONFIRM_PAGE not in names:
        return None
    confirm = names.tolist().index(CONFIRM_PAGE)
    came, served = (
        np.bincount(page[there], minlength=len(names))
        for there in (step <= completed[session], step < completed[session])
    )
    in_order = np.lexsort((step, session))
    of, at = session[in_order], page[in_order]
    goes_on = of[1:] == of[:-1]
    follows = np.zeros((len(names), len(names)))
    np.add.at(follows, (at[:-1][goes_on], at[1:][goes_on]), 1)
    starts = np.bincount(page[step == 0], minlength=len(names))
    visits = np.bincount(page, minlength=len(names))
    survives = np.divide(served, came, out=np.zeros(len(names)), where=came > 0)
    walks = np.eye(len(names)) - (follows / visits[:, None]).T * survives
    return float(survives[confirm] * np.linalg.solve(walks, starts)[confirm] / visits[confirm])


def _arrivals_s(attempts: pa.Table) -> npt.NDArray[np.float64]:
    first = _first_attempts(attempts)
    arrived = first.filter(pc.equal(first.column("step"), 0)).column("intended_s")
    times_s: npt.NDArray[np.float64] = arrived.drop_null().to_numpy()
    return times_s


def _useful_by(attempts: pa.Table, time_s: float) -> int:
    of_session, length, completed = _lengths(attempts)
    whole = length == completed
    return int(np.count_nonzero(_is_completed(attempts, time_s) & whole[of_session]))


def _is_completed(attempts: pa.Table, until_s: float) -> npt.NDArray[np.bool_]:
    is_over = attempts.column("finished_s").to_numpy() <= until_s  # nan without an answer: not over
    found: npt.NDArray[np.bool_] = is_outcome(attempts, AttemptOutcome.COMPLETED) & is_over
    return found


def _lengths(
    attempts: pa.Table, until_s: float = np.inf
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return each attempt's session index, and each session's number of planned and of completed
    requests."""
    sessions, of_session = np.unique(attempts.column("session").to_numpy(), return_inverse=True)
    is_planned = attempts.column("attempt").to_numpy() <= 1
    is_completed = _is_completed(attempts, until_s)
    planned = np.bincount(of_session[is_planned], minlength=len(sessions))
    return of_session, planned, np.bincount(of_session[is_completed], minlength=len(sessions))


def session_fates(attempts: pa.Table) -> SessionFates:
    """Count the sessions by fate."""
    of_session, length, completed = _lengths(attempts)
    is_first = (attempts.column("step").to_numpy() == 0) & (
        attempts.column("attempt").to_numpy() <= 1
    )
    was_rejected = np.zeros(len(length), dtype=bool)
    was_rejected[of_session[is_first & is_outcome(attempts, AttemptOutcome.REJECTED)]] = True
    let_in = completed > 0
    whole = length == completed
    return SessionFates(
        arrived=len(length),
        rejected=int(np.count_nonzero(was_rejected & ~let_in)),
        never_let_in=int(np.count_nonzero(~was_rejected & ~let_in)),
        completed=int(np.count_nonzero(whole)),
        completed_requests=int(length[whole].sum()),
    )


def completed_by(attempts: pa.Table, time_s: float) -> int:
    """Return the number of sessions that had completed after `time_s` paper seconds."""
    _, length, completed = _lengths(attempts, time_s)
    return int(np.count_nonzero(length == completed))


def _first_attempts(attempts: pa.Table) -> pa.Table:
    return attempts.filter(pc.less_equal(attempts.column("attempt"), 1))


def _groups(table: pa.Table, *keys: str) -> list[tuple[Any, ...]]:
    rows = table.group_by(list(keys)).aggregate([([], "count_all")]).to_pylist()
    return [(*(row[key] for key in keys), row["count_all"]) for row in rows]


def is_outcome(attempts: pa.Table, outcome: AttemptOutcome) -> npt.NDArray[np.bool_]:
    """Return an array that shows for each attempt whether it has this outcome."""
    equal = pc.equal(attempts.column("outcome"), outcome.value)
    found: npt.NDArray[np.bool_] = equal.to_numpy(zero_copy_only=False)
    return found


def response_times_s(attempts: pa.Table, page: str | None = None) -> npt.NDArray[np.float64]:
    """Return the response times of all attempts, in paper seconds. As in LIFO-Pri's footnote 1, the
    response time of an attempt that did not complete is infinite."""
    table = attempts.filter(pc.not_equal(attempts.column("attempt"), 0))
    if page is not None:
        table = table.filter(pc.equal(table.column("page"), page))
    times = table.column("finished_s").to_numpy() - table.column("started_s").to_numpy()
    return np.where(is_outcome(table, AttemptOutcome.COMPLETED), times, np.inf)
