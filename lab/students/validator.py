"""Check a student's policy, and report for each requirement whether it holds and how to fix it.

During the check, the policy runs in a separate confined process, as in the gateway and the
simulator. A browser cannot start such a process and uses another `Place`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common.page_types import CAPACITY_RPS
from gateway.policies import PolicyError, trace
from gateway.policies.interface import PAGES, Dispatch, Outcome, Request, Verdict
from gateway.policies.sheet import Sheet
from gateway.students import confinement, files
from gateway.students.calls import Calls, MisbehavedError, PolicyFile
from gateway.students.limits import WITHOUT_CUSTOMERS
from gateway.students.process import Child
from gateway.students.stand_in import StandIn
from lab.students.drive import Drive, Step, mixed, rush
from loadgen.workload.sessions import Customers, SessionModel
from simulator.scenario import Scenario, SharedCpus
from simulator.simulation import BrokenPolicyError, simulate

FEW, MANY = 100, 10_000
"""The numbers of waiting requests for which decisions are timed."""
SLOW_US: Final = 5_000.0
"""The maximum CPU time of a decision with many waiting requests, in microseconds. A longer decision
would delay all customers of the gateway.
"""
_TIMED: Final = 200
SESSIONS: Final = 300
STEPS: Final = 300
RUSH: Final = 2000
_RHO: Final = 1.4


class _FailedError(Exception):
    """The error raised if a check fails; its text explains the fix."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of the check of one requirement."""

    check: str
    holds: bool
    says: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of all checks; `sheet` is None if the file has no valid data sheet."""

    findings: list[Finding]
    sheet: Sheet | None

    @property
    def is_valid(self) -> bool:
        return all(finding.holds for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Place:
    """The program that runs a policy during its check: a confined process or a browser."""

    impurities: Callable[[PolicyFile], Sequence[str]]
    """A function that returns the forbidden imports and names in a file; it can raise
    PolicyError."""
    accept: Callable[[PolicyFile], object]
    """A function that raises PolicyError for a file that must not be loaded."""
    start: Callable[[PolicyFile], Calls]
    """A function that loads a file and returns an object for calls of its policy."""
    layers: Callable[[Calls], Mapping[str, str]] | None
    """A function that returns the layers of confinement of a loaded policy; None if there are no
    such layers.
    """
    slower: float = 1.0
    """The factor by which Python is slower here than in a separate process."""


def _holding(calls: Calls) -> Mapping[str, str]:
    assert isinstance(calls, Child)
    return calls.holding


PROCESS: Final = Place(
    impurities=files.impurities,
    accept=files.checked,
    start=lambda file: Child(file, WITHOUT_CUSTOMERS),
    layers=_holding,
)
"""The place that runs every policy object in a separate confined process."""


def check(path: Path, on_finding: Callable[[Finding], None] = lambda _: None) -> Checked:
    """Check the file; `on_finding` receives each finding immediately.

    After a failure, checks that depend on the failed check are omitted. Raises PolicyError if the
    file does not exist or is not text.
    """
    return check_file(files.opened(str(path)), on_finding, PROCESS)


def check_file(file: PolicyFile, on_finding: Callable[[Finding], None], place: Place) -> Checked:
    """Check a file in `place`, as `check` does."""
    findings: list[Finding] = []

    def tell(finding: Finding) -> None:
        findings.append(finding)
        on_finding(finding)

    tell(_read(file, place))
    if not findings[0].holds:
        return Checked(findings, None)
    under_test = _UnderTest(file, place)
    for name, look in under_test.checks():
        try:
            tell(Finding(name, True, look()))
        except (_FailedError, BrokenPolicyError, MisbehavedError) as fault:
            tell(Finding(name, False, str(fault)))
            if name in _NEEDED:
                break
        except PolicyError as fault:
            tell(Finding(name, False, fault.message.removeprefix(f"{file.name}: ")))
            break
        finally:
            under_test.end()
    return Checked(findings, under_test.sheet)


_NEEDED: Final = ("sheet", "rules")
"""The names of the checks on which all later checks depend."""


def _read(file: PolicyFile, place: Place) -> Finding:
    try:
        found = place.impurities(file)
    except PolicyError as fault:
        return Finding("pure", False, fault.message.removeprefix(f"{file.name}: "))
    if found:
        return Finding("pure", False, "\n".join(found))
    return Finding("pure", True, "only imports and names that a policy may use")


@dataclass(frozen=True, slots=True)
class _Decision:
    cpu_us: float
    """The CPU time of the policy's process, in microseconds."""
    real_us: float
    """The elapsed time from the call to the answer, in microseconds."""


class _UnderTest:
    def __init__(self, file: PolicyFile, place: Place) -> None:
        self.sheet: Sheet | None = None
        self._file = file
        self._place = place
        self._children: list[Calls] = []

    def checks(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield "sheet", self._sheet
        if self._place.layers is not None:
            yield "confined", self._confined
        yield "rules", self._rules
        yield "every request", self._every_request
        yield "switched", self._switched
        yield "replay", self._replay
        yield "time", self._time

    def end(self) -> None:
        for child in self._children:
            child.end()
        self._children.clear()

    # ---- the checks: each returns a fact that holds, or raises ---------------------------------

    def _sheet(self) -> str:
        self._place.accept(self._file)
        child = self._child()
        self.sheet = child.sheet
        child.make(child.sheet.read({}))
        given = ", ".join(f"{one.name} = {one.default}" for one in child.sheet.parameters)
        return f"{child.sheet.name}; {given or 'no parameters'}"

    def _confined(self) -> str:
        assert self._place.layers is not None
        holding = self._place.layers(self._child())
        missing = [words for name, words in confinement.LAYERS.items() if name not in holding]
        if missing:
            return f"all layers except those that this kernel refuses: {'; '.join(missing)}"
        return "all layers hold: " + ", ".join(holding)

    def _rules(self) -> str:
        events = 0
        for seed in range(3):
            events += self._driven(mixed(seed, STEPS))
        return (
            f"{events} events: every verdict is allowed, and waiting() is correct after each event"
        )

    def _every_request(self) -> str:
        """Check that every request gets a verdict.

        If requests wait while all workers are free and no event follows, FIFO replaces the policy,
        and the check fails.
        """
        drive = Drive(self._fresh())
        for kind, value in rush(steps=RUSH):
            drive.event(kind, value)
        drive.finish()
        _watch(drive.policy)
        return f"{drive.ids} requests in a rush: each gets a verdict"

    def _switched(self) -> str:
        events = self._driven(mixed(11, STEPS, self._fresh))
        return f"no request is lost when policies are switched ({events} events)"

    def _replay(self) -> str:
        told = self._simulated()
        again = trace.replay(told, self._fresh())
        for place, (event, verdicts) in enumerate(zip(told, again, strict=True)):
            if event.verdicts != verdicts:
                raise _FailedError(
                    f"in a second run with the same events, event {place} ({event.name} at "
                    f"{event.time_s:.2f} s) got {list(verdicts)!r:.80} instead of "
                    f"{list(event.verdicts)!r:.80}. Keep no state outside the policy object, and "
                    "draw random numbers from random.Random(seed)"
                )
        return f"{len(told)} events of a simulated rush: the same verdicts the second time"

    def _time(self) -> str:
        few, many = self._decision(FEW), self._decision(MANY)
        told = (
            f"{few.cpu_us:,.0f} µs of CPU per decision with {FEW} waiting requests, "
            f"{many.cpu_us:,.0f} µs with {MANY:,} (elapsed time: {few.real_us:,.0f} and "
            f"{many.real_us:,.0f} µs)"
        )
        allowed_us = SLOW_US * self._place.slower
        if many.cpu_us > allowed_us:
            raise _FailedError(
                f"{told}; allowed: {allowed_us:,.0f} µs of CPU. Look for code that goes through "
                "all requests each time: sorted(), min(), list.remove(), `in` with a list. Use a "
                "Line, a dict or heapq instead"
            )
        return told

    # ---- running the policy --------------------------------------------------------------------

    def _child(self) -> Calls:
        child = self._place.start(self._file)
        self._children.append(child)
        return child

    def _fresh(self) -> "_ObservedStandIn":
        child = self._child()
        child.make(child.sheet.read({}))
        return _ObservedStandIn(self._file.stem, child)

    def _driven(self, steps: Iterator[Step]) -> int:
        drive, events = Drive(self._fresh()), 0
        for kind, value in steps:
            drive.event(kind, value)
            events += 1
            policy = _watch(drive.policy)
            drive.check(policy.own_waiting())
            if events % 50 == 0:
                policy.snapshot()
                _watch(policy)
        return events

    def _simulated(self) -> list[trace.Event]:
        model = SessionModel(timeout_s=1.0, think_timeout_mean_s=3.0, think_time_mean_s=1.0)
        customers = Customers(model, 1, model.session_rate(_RHO, CAPACITY_RPS))
        policy = self._fresh()
        recorder = trace.Recorded(policy)
        simulate(Scenario(customers, recorder, SharedCpus(), 1, sessions=SESSIONS))
        _watch(policy)
        return recorder.events

    def _decision(self, waiting: int) -> "_Decision":
        """Return the mean CPU time and the mean elapsed time of a call of the policy.

        During the calls, `waiting` requests wait, or fewer if the policy turns some away.
        """
        policy = self._fresh()
        page = PAGES[0]
        policy.adopt(
            0.0, [Request(id, PAGES[id % 8], 0.0, f"s{id}", id % 3 == 0) for id in range(waiting)]
        )
        _watch(policy)
        began_s, cpu_s, asked = time.perf_counter(), policy.cpu_s(), 0
        for id in range(waiting, waiting + _TIMED):
            now = float(id - waiting)
            while (due_s := policy.next_timer_s()) is not None and due_s <= now:
                policy.timer_due(now)
                asked += 1
            verdicts: list[Verdict] = list(policy.arrival(now, Request(id, page, now, None, True)))
            verdicts += policy.workers_free(now, 1)
            asked += 2
            for verdict in verdicts:
                if type(verdict) is Dispatch:
                    policy.completion(now, verdict.id, Outcome.ANSWERED)
                    asked += 1
        took_s, cpu_s = time.perf_counter() - began_s, policy.cpu_s() - cpu_s
        _watch(policy)
        return _Decision(cpu_us=cpu_s / asked * 1e6, real_us=took_s / asked * 1e6)


class _ObservedStandIn(StandIn):
    """A wrapper of a policy that shows the policy's state to the checks."""

    def __init__(self, name: str, child: Calls) -> None:
        super().__init__(name, child, WITHOUT_CUSTOMERS)
        self.own_waiting = child.waiting
        """A function that returns the ids of the waiting requests, as the policy reports them."""
        self.cpu_s = child.cpu_s
        """A function that returns the CPU time of the policy's process, in seconds."""


def _watch(policy: object) -> "_ObservedStandIn":
    """Return the policy's wrapper; raises _FailedError if FIFO replaced the policy."""
    assert isinstance(policy, _ObservedStandIn)
    if policy.fallen_back is not None:
        raise _FailedError(f"at {policy.fallen_back.at_s:.1f} s: {policy.fallen_back.reason}")
    return policy
