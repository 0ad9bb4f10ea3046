"""The result of the simulation of a hosting platform, and the object that collects it."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float64]


class HostedFate(StrEnum):
    """The fate of a session."""

    COMPLETED = "completed"
    REFUSED = "refused"
    """A new connection of the session was refused."""
    TIMED_OUT = "timed_out"
    UNDER_WAY = "under_way"
    """The session had not ended when the simulation was cut off."""


@dataclass(frozen=True, slots=True)
class AppResult:
    """The result of one application, with times in seconds."""

    series: Mapping[str, Series]
    """The values of each second, by column. Counts: `new_sessions`, `replies`, `new_connections`,
    `resumed_connections`, `refused` (connections). Mean over the manager's interval: `busy`
    (processors in use). Values at the beginning of the second: `processors` (assigned; with
    `linux`, all), `requested` (R_i, or nan if unknown).
    """
    sessions: Mapping[HostedFate, int]
    replies: int
    """The number of pages and images that arrived in time."""
    response_s: Series
    """The response time of each page answered in time: from its first attempt to its last image."""
    response_ended_s: Series
    """The time at which each response in `response_s` ended."""
    busy_s: float
    """The CPU seconds that the application used."""
    wasted_busy_s: float
    """The CPU seconds of work that ended after its customer had left."""
    new_connections_served: int
    resumed_connections_served: int
    new_connections_busy_s: float
    """The CPU seconds of new connections: their full handshakes and their requests."""
    resumed_connections_busy_s: float


class Ledger:
    """The collector of one application's result."""

    def __init__(self, seconds: int) -> None:
        self.new_sessions = array("q", bytes(8 * seconds))
        self.replies = array("q", bytes(8 * seconds))
        self.new_connections = array("q", bytes(8 * seconds))
        self.resumed_connections = array("q", bytes(8 * seconds))
        self.refused = array("q", bytes(8 * seconds))
        self.sessions = dict.fromkeys(HostedFate, 0)
        self.response_s = array("d")
        self.response_ended_s = array("d")
        self.wasted_busy_s = 0.0
        self.connections_served = [0, 0]
        """The number of new and the number of resumed connections served."""
        self.connections_busy_s = [0.0, 0.0]
        self.busy_marks: list[tuple[float, float]] = [(0.0, 0.0)]
        self.assignments: list[tuple[float, float, float]] = []
        """The assignments: (start time, assigned processors, requested processors or nan)."""

    def connection(self, now_s: float, *, resumed: bool, is_accepted: bool) -> None:
        column = self.resumed_connections if resumed else self.new_connections
        column[int(now_s)] += 1
        if not is_accepted:
            self.refused[int(now_s)] += 1

    def answered(self, now_s: float, replies: int, response_s: float) -> None:
        """Count a page that arrived in time with its images."""
        self.replies[int(now_s)] += replies
        self.response_s.append(response_s)
        self.response_ended_s.append(now_s)

    def result(self, end_s: float, busy_s: float) -> AppResult:
        """Return the application's result at time `end_s`; `busy_s` is the CPU time used so far, in
        seconds.
        """
        under_way = sum(self.new_sessions) - sum(self.sessions.values())
        columns = "new_sessions replies new_connections resumed_connections refused"
        counted = {name: np.array(getattr(self, name), float) for name in columns.split()}
        seconds = np.arange(len(self.replies), dtype=float)
        if self.busy_marks[-1][0] < end_s:
            self.busy_marks.append((end_s, busy_s))
        marks_s, marks_busy_s = (np.array(column) for column in zip(*self.busy_marks, strict=True))
        edges_s = np.append(seconds, min(end_s, float(len(seconds))))
        used_s = np.diff(np.interp(edges_s, marks_s, marks_busy_s))
        since_s, processors, requested = (
            np.array(column) for column in zip(*self.assignments, strict=True)
        )
        in_force = np.searchsorted(since_s, seconds, side="right") - 1
        return AppResult(
            series={
                **counted,
                "busy": used_s / np.maximum(np.diff(edges_s), 1e-9),
                "processors": processors[in_force],
                "requested": requested[in_force],
            },
            sessions={**self.sessions, HostedFate.UNDER_WAY: under_way},
            replies=sum(self.replies),
            response_s=np.array(self.response_s),
            response_ended_s=np.array(self.response_ended_s),
            busy_s=busy_s,
            wasted_busy_s=self.wasted_busy_s,
            new_connections_served=self.connections_served[0],
            resumed_connections_served=self.connections_served[1],
            new_connections_busy_s=self.connections_busy_s[0],
            resumed_connections_busy_s=self.connections_busy_s[1],
        )
