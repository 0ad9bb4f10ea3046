"""Calculate fairness: which sessions complete, and how long the customers of failed sessions wait.

The class of a session depends on its number of planned requests. Times are paper seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lab.analysis.outcomes import is_outcome
from lab.intervals import Estimate, estimate_known, text_of
from lab.report.drawing.table import Table
from loadgen.records.attempts import AttemptOutcome

TOLD = (AttemptOutcome.DROPPED, AttemptOutcome.REJECTED, AttemptOutcome.REFUSED)
"""The outcomes that inform a customer that the page will not come."""


class LengthClass(NamedTuple):
    """Sessions that planned `shortest` to `longest` requests."""

    words: str
    shortest: int
    longest: int


CLASSES = (
    LengthClass("1 request", 1, 1),
    LengthClass("2", 2, 2),
    LengthClass("3", 3, 3),
    LengthClass("4 to 6", 4, 6),
    LengthClass("7 (buyers)", 7, 10**6),
)
"""The classes of sessions by number of planned requests, for sessions of LIFO-Pri's Markov chain.

A session ends while browsing (1 to 3), in the checkout (4 to 6), or with a confirm (7).
"""


@dataclass(frozen=True, slots=True)
class Fairness:
    """The fairness of one run; a value is None if no session of the run counts for it."""

    completed_ratio: Mapping[str, float | None]
    """The share of each class's sessions that completed."""
    wait_median_s: Mapping[str, float | None]
    """The median wait of each class's failed sessions, in paper seconds. The wait begins with the
    first attempt for the missing page and ends with the last answer or timeout."""
    told_ratio: float | None
    """The share of all failed sessions whose missing page was dropped, rejected or refused."""
    wait_all_median_s: float | None
    wait_all_p95_s: float | None


def fairness_of(attempts: pa.Table) -> Fairness:
    _, of_session = np.unique(attempts.column("session").to_numpy(), return_inverse=True)
    number = int(of_session.max()) + 1 if len(of_session) else 0
    attempt = attempts.column("attempt").to_numpy()
    step = attempts.column("step").to_numpy()
    done = is_outcome(attempts, AttemptOutcome.COMPLETED)
    length = np.bincount(of_session[attempt <= 1], minlength=number)
    completed = np.bincount(of_session[done], minlength=number)
    failed = completed < length
    # The attempts for the first page that a session did not get; steps count up from 0.
    last = (step == completed[of_session]) & (attempt > 0)
    started_s, ended_s = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(started_s, of_session[last], attempts.column("started_s").to_numpy()[last])
    np.maximum.at(ended_s, of_session[last], attempts.column("finished_s").to_numpy()[last])
    told = np.zeros(number, dtype=bool)
    for outcome in TOLD:
        told[of_session[last & is_outcome(attempts, outcome)]] = True
    wait_s = ended_s - started_s
    inside = {c.words: (length >= c.shortest) & (length <= c.longest) for c in CLASSES}
    return Fairness(
        completed_ratio={words: _share(~failed, of) for words, of in inside.items()},
        wait_median_s={words: _quantile(wait_s[of & failed], 50) for words, of in inside.items()},
        told_ratio=_share(told, failed),
        wait_all_median_s=_quantile(wait_s[failed], 50),
        wait_all_p95_s=_quantile(wait_s[failed], 95),
    )


@dataclass(frozen=True, slots=True)
class FairnessRow:
    """The repetitions of one policy at one load."""

    policy: str
    title: str
    runs: tuple[Fairness, ...]

    def completed(self, words: str) -> Estimate | None:
        return estimate_known(run.completed_ratio[words] for run in self.runs)

    def wait(self, words: str) -> Estimate | None:
        return estimate_known(run.wait_median_s[words] for run in self.runs)


def completed_table(rows: Sequence[FairnessRow], rho: float) -> Table:
    """Return the table of completed sessions by planned length."""
    table = Table(
        f"Completed sessions by planned length, % of the sessions of this length, ρ = {rho:g}",
        ("Policy", *(known.words for known in CLASSES)),
        note="Values are means of the repetitions ± half-width of the 95 % interval. A policy that "
        "does not know the length of a session can treat all lengths equally only if every session "
        "that it lets in completes. If the values of a row fall from left to right, the policy "
        "loses sessions after letting them in.",
    )
    for row in rows:
        shares = (_percent(row.completed(known.words)) for known in CLASSES)
        table.rows.append((row.title, *shares))
    return table


def waiting_table(rows: Sequence[FairnessRow], rho: float) -> Table:
    table = Table(
        f"Failed sessions: seconds until the answer or the timeout, ρ = {rho:g}",
        ("Policy", *(known.words for known in CLASSES), "All, median", "All, p95", "Informed %"),
        note="The wait of a failed session begins with its first request for the page that it did "
        "not get. It includes retries, and ends when the session is turned away or its customer "
        "gives up. Values are medians in paper seconds, by planned length. “Informed” is the "
        "percentage of failed sessions in which an attempt for the missing page was dropped, "
        "rejected or refused. “–” means that no session failed.",
    )
    for row in rows:
        waits = [
            *(row.wait(known.words) for known in CLASSES),
            estimate_known(run.wait_all_median_s for run in row.runs),
            estimate_known(run.wait_all_p95_s for run in row.runs),
        ]
        told = _percent(estimate_known(run.told_ratio for run in row.runs))
        table.rows.append((row.title, *(text_of(one, 1) for one in waits), told))
    return table


def _percent(known: Estimate | None) -> str:
    return text_of(known and known.scaled(100))


def _share(what: npt.NDArray[np.bool_], of: npt.NDArray[np.bool_]) -> float | None:
    return float(what[of].mean()) if of.any() else None


def _quantile(values: npt.NDArray[np.float64], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) else None
