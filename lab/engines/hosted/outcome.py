"""The results of a hosted application's customers, from the files of the load generator and the CPU
manager.

Times are paper seconds unless their name contains `real`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.errors import ExperimentError
from loadgen.records.attempt_log import read_attempts, read_metadata
from loadgen.records.attempts import AttemptOutcome
from loadgen.records.connection_log import ConnectionKind, connections_file, read_connections
from loadgen.workload.partly_open import IMAGE

Series = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HostedApplication:
    """The results of one application's customers.

    `per_second` has the numbers of new `sessions`, `replies` and assigned `processors` in each
    second of the run.
    """

    sessions: Mapping[str, int]
    """The number of sessions by fate: completed, refused, timed_out, failed, under_way."""
    response_s: Series
    per_second: Mapping[str, Series]
    behind_ratio: float
    """The share of attempts that the load generator sent late."""


def hosted_application(
    attempts_file: Path,
    *,
    duration_s: float,
    processors: Callable[[float], Series] | float,
) -> HostedApplication:
    """Return the results of a run of `duration_s`; the connection log is in the folder of
    `attempts_file`.

    `processors` is a constant number of assigned processors, or a function that receives the run's
    start (Unix time) and returns the number at each second. Raises ExperimentError if the run was
    stopped before its end.
    """
    metadata = read_metadata(attempts_file)
    attempts = read_attempts(attempts_file)
    connections = read_connections(connections_file(attempts_file))
    seconds = round(duration_s)
    if not metadata["complete"]:
        raise ExperimentError(
            "A load generator was stopped before the end. Run the same command again to repeat "
            "this run."
        )
    if callable(processors):
        had = processors(metadata["started_at"])
    else:
        had = np.full(seconds, processors)
    replies_s = _completed(attempts).column("finished_s").to_numpy()
    return HostedApplication(
        session_fates(attempts, connections),
        page_response_s(attempts),
        {
            "sessions": by_second(first_opened_s(connections), seconds),
            "replies": by_second(replies_s, seconds),
            "processors": had,
        },
        float(metadata["schedule"]["late_share"]),
    )


def by_second(times_s: npt.NDArray[np.float64], seconds: int) -> Series:
    return np.histogram(times_s, np.arange(seconds + 1))[0].astype(float)


def assigned(
    entries: Sequence[Mapping[str, Any]],
    application: str,
    began_at: float,
    time_scale: float,
    seconds: int,
) -> Series:
    """Return the processors assigned at each second of a run that began at `began_at` (Unix time).

    At the end of each interval, the CPU manager writes an entry with the processors assigned in
    this interval. Seconds after the last entry get the value of the last entry.
    """
    known = [
        (float(entry["time_s"]), float(one["assigned"]))
        for entry in entries
        for one in entry["applications"]
        if one["application"] == application
    ]
    if not known:
        raise ExperimentError(f"The CPU manager's accounts have no entry for {application}.")
    at_s = (np.array([time_s for time_s, _ in known]) - began_at) * time_scale
    entry_of = np.searchsorted(at_s, np.arange(seconds), side="left")
    return np.array([value for _, value in known])[np.minimum(entry_of, len(known) - 1)]


def first_opened_s(connections: pa.Table) -> npt.NDArray[np.float64]:
    """Return the time of each session's first connection attempt."""
    sessions = connections.column("session").to_numpy()
    _, first = np.unique(sessions, return_index=True)  # rows are in the order of sessions and time
    opened_s: Series = connections.column("opened_s").to_numpy()
    return opened_s[first]


def session_fates(attempts: pa.Table, connections: pa.Table) -> dict[str, int]:
    """Return the number of sessions with each fate.

    A session is `refused` if the gateway refused one of its connections, and `timed_out` if its
    last attempt timed out. A session is `completed` if all its planned requests were answered, and
    `under_way` if it was in progress at the end of the run. All other sessions are `failed`.
    """
    refused = {
        session
        for session, kind in zip(
            connections.column("session").to_pylist(),
            connections.column("kind").to_pylist(),
            strict=True,
        )
        if kind == ConnectionKind.REFUSED
    }
    last: dict[int, str] = {}
    unasked: set[int] = set()
    for session, outcome in zip(
        attempts.column("session").to_pylist(), attempts.column("outcome").to_pylist(), strict=True
    ):  # rows are in the order of session, step and attempt
        if outcome == AttemptOutcome.NOT_GENERATED:
            unasked.add(session)
        else:
            last[session] = outcome
    fates = dict.fromkeys(("completed", "refused", "timed_out", "failed", "under_way"), 0)
    for session in unasked | last.keys():
        outcome = last.get(session)
        if session in refused:
            fate = "refused"
        elif outcome == AttemptOutcome.TIMED_OUT:
            fate = "timed_out"
        elif outcome in (None, AttemptOutcome.COMPLETED):
            fate = "under_way" if session in unasked else "completed"
        else:
            fate = "failed"
        fates[fate] += 1
    return fates


def page_response_s(attempts: pa.Table) -> Series:
    """Return the response time of each answered attempt for a page, in paper seconds, from the
    planned start of the attempt.
    """
    pages = _completed(attempts)
    pages = pages.filter(pc.not_equal(pages.column("page"), IMAGE))
    finished_s: Series = pages.column("finished_s").to_numpy()
    intended_s: Series = pages.column("intended_s").to_numpy()
    return finished_s - intended_s


def _completed(attempts: pa.Table) -> pa.Table:
    return attempts.filter(pc.equal(attempts.column("outcome"), AttemptOutcome.COMPLETED.value))
