"""The record of a simulation in progress: counts, fates of sessions, samples and rows
of the log.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from gateway.policies.interface import FATES, PAGES, LoadSample
from loadgen.records.attempts import Attempt, AttemptKeeper, AttemptOutcome, not_generated
from loadgen.workload.sessions import CONFIRM_PAGE
from simulator.result import SessionFate, Sessions, Simulated
from simulator.scenario import FILE_PLACE, SERVED_PAGES, Scenario
from simulator.servers import Server
from simulator.sessions import Session

SAMPLED_FATES = (
    *("arrived", "dispatched", "dropped", "rejected"),
    *("answered", "orphaned", "failed", "withdrawn", "cancelled"),
)
"""The fates whose totals are in every sample, as in samples.parquet of a live run."""

UNANSWERED = (
    AttemptOutcome.TIMED_OUT,
    AttemptOutcome.DROPPED,
    AttemptOutcome.REJECTED,
    AttemptOutcome.FAILED,
)
"""The outcomes of unanswered attempts. REFUSED is not in this list, because no connection is
refused in this simulation.
"""

SAMPLED = (
    "time_s",
    "policy",
    "discipline",
    "cpu_utilisation_ratio",
    "busy_workers",
    "in_service",
    "waiting",
    *(f"waiting_{page}" for page in PAGES),
    *(f"{fate}_total" for fate in SAMPLED_FATES),
    "confirms_total",
)
"""The columns of the samples. With an admission policy, the samples also have the column
`admission`.
"""

_CONFIRM = [str(page) for page in PAGES].index(CONFIRM_PAGE)


class Record:
    """The record of a simulation in progress. The lists of counts have an entry for each page in
    SERVED_PAGES; the arrays have an entry for each session.
    """

    def __init__(self, scenario: Scenario, server: Server, log: AttemptKeeper | None) -> None:
        self._policy = scenario.policy
        self._customers = scenario.customers
        self._server = server
        self._log = log
        self.is_logged = log is not None
        self.arrived = [0] * len(SERVED_PAGES)
        self.dispatched = [0] * len(SERVED_PAGES)
        self.dropped = [0] * len(SERVED_PAGES)
        self.rejected = [0] * len(SERVED_PAGES)
        self.abandoned_waiting = [0] * len(SERVED_PAGES)
        self.withdrawn = [0] * len(SERVED_PAGES)
        self.answered = [0] * len(SERVED_PAGES)
        self.orphaned = [0] * len(SERVED_PAGES)
        self.failed = [0] * len(SERVED_PAGES)  # simulated servers never fail
        self.cancelled = [0] * len(SERVED_PAGES)
        self.unanswered: Counter[AttemptOutcome] = Counter()
        """The number of attempts that were not answered in time, by outcome."""
        self.spent_s = array("d")
        """The server time spent on the requests of each session."""
        self.completed = array("i")
        """The number of attempts of each session that were answered in time."""
        self.disconnects = 0
        self.wasted_busy_s = 0.0
        self.unanswered_busy_s = 0.0
        self._spent_before: dict[int, float] = {}
        """The server time that a request in service had used when its customer left."""
        self._arrived_s = array("d")
        self._ended_s = array("d")
        self._length = array("i")
        self._kind = array("b")
        self._fate = array("b")
        self._sampled: list[list[int]] = [getattr(self, fate) for fate in SAMPLED_FATES]
        self._rows: list[list[Any]] = []
        self._sampled_s = 0.0
        self._sampled_busy_s = 0.0

    def expect(
        self, arrivals_s: Sequence[float], lengths: Sequence[int], kinds: Iterable[int]
    ) -> None:
        """Add entries for the next sessions in order."""
        new = len(arrivals_s)
        self._arrived_s.extend(arrivals_s)
        self._ended_s.extend(repeat(math.nan, new))
        self._length.extend(lengths)
        self.completed.extend(repeat(0, new))
        self._kind.extend(kinds)
        self._fate.extend(repeat(SessionFate.UNFINISHED, new))
        self.spent_s.extend(repeat(0.0, new))

    def attempt_failed(
        self, now_s: float, session: Session, outcome: AttemptOutcome, status: int
    ) -> None:
        self.unanswered[outcome] += 1
        if self.is_logged:
            self.write(now_s, session, outcome, status)

    def left_in_service(self, id: int, spent_s: float) -> None:
        """Record that a customer left while the request was in service and had used `spent_s`."""
        self._spent_before[id] = spent_s
        self.unanswered_busy_s += spent_s

    def left_alone(self, id: int, spent_s: float) -> None:
        """Record the end of an orphan request after `spent_s` seconds of server time."""
        self.disconnects += 1
        self.wasted_busy_s += spent_s - self._spent_before.pop(id, 0.0)

    def session_ended(self, now_s: float, session: Session, fate: SessionFate) -> None:
        """Record the end of a session, whose orphan requests may still be in progress."""
        index = session.index
        self._ended_s[index] = now_s
        self._fate[index] = fate
        if self._log is not None:
            for step in range(session.step + 1, session.length):
                self._log.append(not_generated(index, step, session.walk[step]))

    def write(self, now_s: float, session: Session, outcome: AttemptOutcome, status: int) -> None:
        """Write the attempt's row. The planned and the actual time of sending are equal."""
        assert self._log is not None
        index, step, attempt = session.index, session.step, session.attempt
        patience_s = self._customers.patience_s(index, step, attempt)
        sent_s = session.sent_s
        self._log.append(
            Attempt(
                index,
                step,
                session.walk[step],
                attempt,
                sent_s,
                sent_s,
                now_s,
                patience_s,
                outcome.value,
                status,
            )
        )

    def load_sample(self, now_s: float, in_service: int) -> LoadSample:
        """Return the server's load since the last sample, and start the next sample interval."""
        interval_s = now_s - self._sampled_s
        busy_s = self._server.busy_until(now_s)
        ratio = (busy_s - self._sampled_busy_s) / (interval_s * self._server.cpus)
        self._sampled_s, self._sampled_busy_s = now_s, busy_s
        return LoadSample(min(1.0, ratio), in_service, interval_s)

    def sample(self, now_s: float, load: LoadSample, busy: int) -> None:
        """Add a row of samples. `busy` is the number of requests in service, without files."""
        waiting = self._waiting()
        snapshot = self._policy.snapshot()
        row = [
            now_s,
            self._policy.name,
            str(snapshot.get("discipline", "")),
            load.cpu_utilisation_ratio,
            load.busy_workers,
            busy,
            sum(waiting),
            *waiting,
            *[sum(counts[:FILE_PLACE]) for counts in self._sampled],
            self.answered[_CONFIRM],
        ]
        if "admission" in snapshot:
            row.append(snapshot["admission"])
        self._rows.append(row)

    def _waiting(self) -> list[int]:
        """Return the number of waiting requests for each of the eight pages."""
        arrived, dispatched, dropped = self.arrived, self.dispatched, self.dropped
        rejected, withdrawn = self.rejected, self.withdrawn
        return [
            arrived[place] - dispatched[place] - dropped[place] - rejected[place] - withdrawn[place]
            for place in range(FILE_PLACE)
        ]

    def _samples(self) -> dict[str, list[Any]]:
        columns = (*SAMPLED, "admission")
        return {
            name: list(values)
            for name, values in zip(columns, zip(*self._rows, strict=True), strict=False)
        }

    def result(self, *, arrived: int, end_s: float, requests: int, events: int) -> Simulated:
        """Return the result at the end of the simulation; `arrived` sessions have arrived."""
        for values in (self._arrived_s, self._ended_s, self.spent_s):
            del values[arrived:]
        for numbers in (self._length, self.completed, self._kind, self._fate):
            del numbers[arrived:]
        sessions = Sessions(
            arrived_s=self._arrived_s,
            ended_s=self._ended_s,
            length=self._length,
            completed=self.completed,
            kind=self._kind,
            fate=self._fate,
        )
        useful_s = (
            spent_s
            for spent_s, fate in zip(self.spent_s, self._fate, strict=True)
            if fate == SessionFate.COMPLETED
        )
        return Simulated(
            sessions=sessions,
            attempts={
                AttemptOutcome.COMPLETED.value: sum(self.answered),
                **{outcome.value: self.unanswered[outcome] for outcome in UNANSWERED},
            },
            counts={
                page: {fate: getattr(self, fate)[place] for fate in FATES}
                for place, page in enumerate((*map(str, PAGES), "other"))
            },
            served={
                page.value: self.answered[place] + self.orphaned[place]
                for place, page in enumerate(PAGES)
            },
            busy_s=self._server.busy_until(end_s),
            useful_busy_s=math.fsum(useful_s),
            rejection_busy_s=self._server.rejection_busy_s,
            wasted_busy_s=self.wasted_busy_s,
            unanswered_busy_s=self.unanswered_busy_s,
            disconnects=self.disconnects,
            cancelled=sum(self.cancelled),
            end_s=end_s,
            requests=requests,
            events=events,
            samples=self._samples(),
        )
