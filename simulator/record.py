"""What a simulation notes down while it runs.

Owns: counts, the fates of sessions, samples. Must not know: why anything happened.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gateway.policies.interface import PAGES, LoadSample, Policy
from loadgen.attempts import AttemptOutcome
from loadgen.sessions import CONFIRM_PAGE
from simulator.result import FATES, SessionFate, Sessions, Simulated
from simulator.servers import Server

SAMPLED_FATES = ("arrived", "dispatched", "dropped", "rejected", "answered", "orphaned", "failed")
"""Fates whose totals are in every sample, as in a live run's samples.parquet."""

UNANSWERED = (
    AttemptOutcome.TIMED_OUT,
    AttemptOutcome.DROPPED,
    AttemptOutcome.REJECTED,
    AttemptOutcome.FAILED,
)
"""What happens to a simulated attempt that is not answered: connections are never refused."""

_CONFIRM = [str(page) for page in PAGES].index(CONFIRM_PAGE)


class Record:
    """Counts by place of the page in PAGES, one list per fate; sessions by index."""

    def __init__(self, policy: Policy, server: Server) -> None:
        self._policy = policy
        self._server = server
        self.arrived = [0] * len(PAGES)
        self.dispatched = [0] * len(PAGES)
        self.dropped = [0] * len(PAGES)
        self.rejected = [0] * len(PAGES)
        self.abandoned_waiting = [0] * len(PAGES)
        self.answered = [0] * len(PAGES)
        self.orphaned = [0] * len(PAGES)
        self.failed = [0] * len(PAGES)  # no server of the simulator fails
        self.cancelled = [0] * len(PAGES)
        self.unanswered: Counter[AttemptOutcome] = Counter()
        """Attempts that ended otherwise than completed, as their customers see it."""
        self.spent_s = array("d")
        """Session → server time spent on its requests."""
        self._arrived_s = array("d")
        self._ended_s = array("d")
        self._length = array("i")
        self._completed = array("i")
        self._kind = array("b")
        self._fate = array("b")
        self._samples: dict[str, list[Any]] = {}
        self._sampled_s = 0.0
        self._sampled_busy_s = 0.0

    def add_sessions(
        self, arrivals_s: Sequence[float], lengths: Sequence[int], kinds: Iterable[int]
    ) -> None:
        """The next sessions in the order of arrival; they may be noted before they come."""
        n = len(arrivals_s)
        self._arrived_s.extend(arrivals_s)
        self._ended_s.extend([math.nan] * n)
        self._length.extend(lengths)
        self._completed.extend([0] * n)
        self._kind.extend(kinds)
        self._fate.extend([SessionFate.UNFINISHED] * n)
        self.spent_s.extend([0.0] * n)

    def session_ended(self, index: int, now_s: float, completed: int, fate: SessionFate) -> None:
        """A session is over; requests of it may still be under way."""
        self._ended_s[index] = now_s
        self._completed[index] = completed
        self._fate[index] = fate

    def load_sample(self, now_s: float, in_service: int) -> LoadSample:
        """What the server says of the time since the sample before."""
        interval_s = now_s - self._sampled_s
        busy_s = self._server.busy_until(now_s)
        ratio = (busy_s - self._sampled_busy_s) / (interval_s * self._server.cpus)
        self._sampled_s, self._sampled_busy_s = now_s, busy_s
        return LoadSample(min(1.0, ratio), in_service, interval_s)

    def sample(
        self, now_s: float, load: LoadSample, waiting: Iterable[tuple[Any, int, float]], busy: int
    ) -> None:
        """A row of samples; `waiting` are the requests that wait, `busy` how many are served."""
        by_place = Counter(place for _, place, _ in waiting)
        snapshot = self._policy.snapshot()
        row: dict[str, Any] = {
            "time_s": now_s,
            "policy": self._policy.name,
            "discipline": str(snapshot.get("discipline", "")),
            "cpu_utilisation_ratio": load.cpu_utilisation_ratio,
            "busy_workers": load.busy_workers,
            "in_service": busy,
            "waiting": by_place.total(),
            **{f"waiting_{page}": by_place[place] for place, page in enumerate(PAGES)},
            **{f"{fate}_total": sum(getattr(self, fate)) for fate in SAMPLED_FATES},
            "confirms_total": self.answered[_CONFIRM],
        }
        if "admission" in snapshot:
            row["admission"] = snapshot["admission"]
        for column, value in row.items():
            self._samples.setdefault(column, []).append(value)

    def result(self, *, sessions: int, end_s: float, requests: int, events: int) -> Simulated:
        """Everything, once the simulation is over; `sessions` have arrived."""
        arrived = slice(sessions)
        came = Sessions(
            arrived_s=np.array(self._arrived_s, dtype=np.float64)[arrived],
            ended_s=np.array(self._ended_s, dtype=np.float64)[arrived],
            length=np.array(self._length, dtype=np.int32)[arrived],
            completed=np.array(self._completed, dtype=np.int32)[arrived],
            kind=np.array(self._kind, dtype=np.int8)[arrived],
            fate=np.array(self._fate, dtype=np.int8)[arrived],
        )
        spent_s = np.array(self.spent_s, dtype=np.float64)[arrived]
        return Simulated(
            sessions=came,
            attempts={
                AttemptOutcome.COMPLETED.value: sum(self.answered),
                **{outcome.value: self.unanswered[outcome] for outcome in UNANSWERED},
            },
            counts={
                page.value: {fate: getattr(self, fate)[place] for fate in FATES}
                for place, page in enumerate(PAGES)
            },
            served={
                page.value: self.answered[place] + self.orphaned[place]
                for place, page in enumerate(PAGES)
            },
            busy_s=self._server.busy_until(end_s),
            useful_busy_s=float(spent_s[came.fate == SessionFate.COMPLETED].sum()),
            rejection_busy_s=self._server.rejection_busy_s,
            end_s=end_s,
            requests=requests,
            events=events,
            samples=self._samples,
        )
