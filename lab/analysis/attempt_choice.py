"""Select attempts of a run, for example slow attempts or the attempts of one session."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gateway.policies.interface import PAGES
from lab.errors import ExperimentError
from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.sessions import CONFIRM_PAGE

MOST_OF_SESSION = 60
KINDS = {
    "slow": "the slowest answered attempts",
    "confirmed": "confirmed purchases",
    "timed_out": "attempts whose customer left",
    "dropped": "attempts that a queueing policy dropped",
    "rejected": "attempts that were answered with a rejection page",
    "all": "all attempts, in the order of their sessions",
}


def chosen(table: pa.Table, kind: str, page: str, session: str) -> pa.Table:
    """Return the attempts of this kind, page and session; an empty `page` or `session` means any.

    `slow` begins with the slowest attempt, `all` has the order of the log, and the other kinds have
    the order of time.

    Raises ExperimentError if an argument is invalid.
    """
    if kind not in KINDS:
        raise ExperimentError(f"kind: {kind!r}; allowed: {', '.join(KINDS)}")
    if page and page not in set(PAGES):
        raise ExperimentError(f"page type: {page!r}; allowed: {', '.join(PAGES)}")
    if session and not (session.isascii() and session.isdigit() and len(session) < 10):
        raise ExperimentError(f"session: {session!r}; allowed: the number of a session, from 0")
    wanted: dict[str, object] = {}
    if kind != "all":
        answered = kind in ("slow", "confirmed")
        wanted["outcome"] = AttemptOutcome.COMPLETED.value if answered else kind
    if page:
        wanted["page"] = page
    if session:
        wanted["session"] = int(session)
    found = _where(table, wanted)
    if kind == "confirmed":
        found = _where(found, {"page": CONFIRM_PAGE})
    if kind == "slow":
        took_s = pc.subtract(found.column("finished_s"), found.column("started_s"))
        return found.take(pc.array_sort_indices(took_s.combine_chunks(), order="descending"))
    return found if kind == "all" else found.sort_by("started_s")


def _where(table: pa.Table, wanted: Mapping[str, object]) -> pa.Table:
    for column, value in wanted.items():
        table = table.filter(pc.equal(table.column(column), value))
    return table


def attempt_at(table: pa.Table, key: Mapping[str, object]) -> dict[str, Any] | None:
    """Return the attempt of this `session`, `step` and `attempt`, or None if there is no such
    attempt."""
    found = _where(table, key).slice(0, 1).to_pylist()
    return found[0] if found else None


def of_session(table: pa.Table, session: int) -> list[dict[str, Any]]:
    """Return the first attempts of a session, at most MOST_OF_SESSION."""
    found: list[dict[str, Any]] = _where(table, {"session": session}).to_pylist()
    return found[:MOST_OF_SESSION]


def response_s(row: Mapping[str, Any]) -> float | None:
    """Return the duration of an attempt in paper seconds; None if it was not sent or has no end."""
    return row["finished_s"] - row["started_s"] if row["finished_s"] is not None else None
