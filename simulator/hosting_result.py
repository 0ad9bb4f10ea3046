"""The result of the simulation of a hosting platform, and how it is gathered."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float64]


class HostedFate(StrEnum):
    """What has become of a session."""

    COMPLETED = "completed"
    REFUSED = "refused"
    """A new connection of it was refused."""
    TIMED_OUT = "timed_out"
    UNDER_WAY = "under_way"
    """When the simulation was cut."""


@dataclass(frozen=True, slots=True)
class AppResult:
    """One application's part; times in seconds from the start."""

    series: Mapping[str, Series]
    """Column → one value per second. Counts in it: `new_sessions`, `replies`, `new_connections`,
    `resumed_connections`, `refused` (connections). Mean over the manager's interval: `busy`
    (processors really used). At its beginning: `processors` (assigned; all there are where nobody
    assigns them), `requested` (R_i; nan while nothing is)."""
    sessions: Mapping[HostedFate, int]
    replies: int
    """In time: pages and images."""
    response_s: Series
    """One per page answered in time: from asking, or opening the connection, to its last image,
    attempts before included."""
    response_ended_s: Series
    """When that was."""
    busy_s: float
    """CPU seconds used."""
    wasted_busy_s: float
    """Of it on work for customers who had left when it was done."""
    new_connections_served: int
    resumed_connections_served: int
    new_connections_busy_s: float
    """Of `busy_s`, when all is done: full handshakes and what was asked over these connections."""
    resumed_connections_busy_s: float


@dataclass(frozen=True, slots=True)
class PlatformResult:
    """The outcome; applications in the order of the scenario's."""

    applications: tuple[AppResult, ...]
    end_s: float
    events: int


class Ledger:
    """Gathers one application's part."""

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
        """New, resumed."""
        self.connections_busy_s = [0.0, 0.0]
        self.busy_marks: list[tuple[float, float]] = [(0.0, 0.0)]
        self.assignments: list[tuple[float, float, float]] = []
        """(from when on, processors, requested or nan)."""

    def connection(self, now_s: float, *, resumed: bool, is_accepted: bool) -> None:
        """One came in."""
        column = self.resumed_connections if resumed else self.new_connections
        column[int(now_s)] += 1
        if not is_accepted:
            self.refused[int(now_s)] += 1

    def answered(self, now_s: float, replies: int, response_s: float) -> None:
        """A page and its images have come in time."""
        self.replies[int(now_s)] += replies
        self.response_s.append(response_s)
        self.response_ended_s.append(now_s)

    def result(self, end_s: float, busy_s: float) -> AppResult:
        """All of it; `busy_s` CPU seconds up to `end_s`."""
        under_way = sum(self.new_sessions) - sum(self.sessions.values())
        counted = {
            name: np.array(getattr(self, name), float)
            for name in (
                "new_sessions",
                "replies",
                "new_connections",
                "resumed_connections",
                "refused",
            )
        }
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
