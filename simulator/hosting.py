"""The simulation of a hosting platform: eDragon's applications, processors and CPU manager
(Guitart et al., 2008, sections 3 and 4).
"""

import math
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count

from gateway.policies.connection_admission import ConnectionAdmission
from gateway.policies.processor_assignment import Wish, assign, even_shares
from gateway.policies.registry import create_connection_admission
from loadgen.workload.draws import stream_key
from simulator.hosted_application import HostedApplication, HostedSession, Work
from simulator.hosting_result import AppResult, Ledger
from simulator.hosting_scenario import AppScenario, PlatformScenario
from simulator.shared_processors import Grant, SharedProcessors
from simulator.simulation import no_garbage_collection

INF = math.inf


def simulate_platform(scenario: PlatformScenario) -> list[AppResult]:
    """Simulate the scenario, and return the results of its applications in order. The same scenario
    gives exactly the same results.
    """
    with no_garbage_collection():
        return _Platform(scenario).run()


class _Platform:
    """One simulation of a scenario.

    Events that are due at the same time happen in this order:

    - the end of work;
    - the end of a patience;
    - a load monitor's interval;
    - the CPU manager's interval;
    - customers' pages and new sessions, in the order in which they were planned.
    """

    def __init__(self, scenario: PlatformScenario) -> None:
        self._scenario = scenario
        numbers = range(len(scenario.applications))
        self._names = [str(number) for number in numbers]
        self._processors = SharedProcessors[tuple[int, Work]](len(numbers), scenario.processors)
        self._due: list[tuple[float, int, int, HostedSession | None, int]] = []
        self._orders = count()
        self._applications = [
            HostedApplication(
                scenario.applications[number],
                scenario,
                stream_key(scenario.seed, f"application {number}"),
                _admission(scenario, number),
                Ledger(math.ceil(scenario.duration_s)),
                partial(self._start, number),
                partial(self._call_back, number),
            )
            for number in numbers
        ]
        self._arrivals = [
            enumerate(application.customers.arrivals(described.schedule))
            for application, described in zip(
                self._applications, scenario.applications, strict=True
            )
        ]
        self._coming = [next(arrivals, None) for arrivals in self._arrivals]

    def run(self) -> list[AppResult]:
        processors, applications, due = self._processors, self._applications, self._due
        scenario = self._scenario
        stop_s = scenario.duration_s
        patience_ends = [application.patience_ends for application in applications]
        for number in range(len(applications)):
            self._plan_arrival(number)
        self._begin()
        intervals = 1
        timers_s = self._next_timer_s()
        while True:
            now_s = processors.next_s
            patience_s = INF
            for number, ends in enumerate(patience_ends):
                while ends and ends[0][2].awaits != ends[0][1]:
                    ends.popleft()  # answered in the meantime
                if ends and ends[0][0] < patience_s:
                    patience_s = ends[0][0]
                    impatient = number
            manager_s = intervals * scenario.interval_s
            now_s = min(now_s, patience_s, timers_s, manager_s)
            if due and due[0][0] < now_s:
                now_s = due[0][0]
            if now_s >= stop_s:
                break
            if now_s == processors.next_s:
                number, work = processors.advance(now_s)
                applications[number].work_done(now_s, work)
            elif now_s == patience_s:
                applications[impatient].patience_ended(now_s)
            elif now_s == timers_s:
                self._timers_due(now_s)
                timers_s = self._next_timer_s()
            elif now_s == manager_s:
                intervals += 1
                self._manage(now_s)
            else:
                _, _, number, session, attempt = heappop(due)
                if session is None:
                    self._arrive(now_s, number)
                else:
                    applications[number].called_back(now_s, session, attempt)
        return [
            application.ledger.result(stop_s, processors.busy_s(stop_s, number))
            for number, application in enumerate(applications)
        ]

    # ---- what applications ask for -------------------------------------------------------------

    def _start(self, number: int, now_s: float, work: Work) -> None:
        self._processors.start(now_s, number, work.busy_s, (number, work))

    def _call_back(self, number: int, time_s: float, session: HostedSession, attempt: int) -> None:
        heappush(self._due, (time_s, next(self._orders), number, session, attempt))

    # ---- arrivals ------------------------------------------------------------------------------

    def _plan_arrival(self, number: int) -> None:
        coming = self._coming[number]
        if coming is not None:
            heappush(self._due, (coming[1], next(self._orders), number, None, 0))

    def _arrive(self, now_s: float, number: int) -> None:
        coming = self._coming[number]
        assert coming is not None
        self._coming[number] = next(self._arrivals[number], None)
        self._plan_arrival(number)
        self._applications[number].arrived(now_s, coming[0])

    # ---- load monitors and CPU manager ---------------------------------------------------------

    def _next_timer_s(self) -> float:
        timers_s = [application.admission.next_timer_s() for application in self._applications]
        return min((timer_s for timer_s in timers_s if timer_s is not None), default=INF)

    def _timers_due(self, now_s: float) -> None:
        for application in self._applications:
            timer_s = application.admission.next_timer_s()
            if timer_s is not None and timer_s <= now_s:
                application.admission.timer_due(now_s)

    def _begin(self) -> None:
        """Assign processors at the start; with provisioning `linux`, all applications share all
        processors.
        """
        scenario, count = self._scenario, len(self._applications)
        if scenario.provisioning == "ecm":
            self._assign(0.0, [None] * count)
            return
        if scenario.provisioning == "linux":
            self._processors.grant(0.0, None)
            assigned = [float(scenario.processors)] * count
        else:
            shares = even_shares(count, range(scenario.processors))
            self._processors.grant(0.0, _grants([set(on) for _, on in shares]))
            assigned = [number for number, _ in shares]
        for application, number in zip(self._applications, assigned, strict=True):
            application.admission.assigned(0.0, number)
            application.ledger.assignments.append((0.0, number, math.nan))

    def _manage(self, now_s: float) -> None:
        """Record the use of processors. If there is a CPU manager, let it assign processors."""
        for number, application in enumerate(self._applications):
            busy_s = self._processors.busy_s(now_s, number)
            application.ledger.busy_marks.append((now_s, busy_s))
        if self._scenario.provisioning == "ecm":
            self._assign(now_s, [each.admission.requested for each in self._applications])

    def _assign(self, now_s: float, requests: list[int | None]) -> None:
        """Assign processors.

        An application that has not requested processors counts as needing all of them. It has not
        requested any before the first prediction of its load, or if its admission is `none`.
        """
        scenario = self._scenario
        wishes = [
            Wish(
                name,
                described.priority,
                scenario.processors if requested is None else requested,
            )
            for name, described, requested in zip(
                self._names, scenario.applications, requests, strict=True
            )
        ]
        shares = assign(wishes, scenario.processors, scenario.sharing)
        self._processors.grant(
            now_s,
            [
                Grant(share.whole, None if share.partner is None else int(share.partner))
                for share in shares.values()
            ],
        )
        for share, application, requested in zip(
            shares.values(), self._applications, requests, strict=True
        ):
            application.admission.assigned(now_s, share.processors)
            application.ledger.assignments.append(
                (now_s, share.processors, math.nan if requested is None else requested)
            )


def _grants(cpus: Sequence[set[int]]) -> list[Grant]:
    """Return the grants of applications that always have these CPUs. Two applications that have the
    same CPU share it. An application can have half a CPU that no other application shares. It may
    then use this CPU fully, because an affinity cannot limit a process to half a CPU.
    """
    grants = []
    for number, own in enumerate(cpus):
        sharing = (i for i, other in enumerate(cpus) if i != number and own & other)
        partner = next(sharing, None)
        grants.append(Grant(len(own) - (partner is not None), partner))
    return grants


def _admission(scenario: PlatformScenario, number: int) -> ConnectionAdmission:
    """Return a new admission policy. With provisioning `linux`, the policy always assumes all
    processors as capacity; otherwise, it assumes the assigned processors.
    """
    if scenario.admission == "none":
        return create_connection_admission("none", {})
    described: AppScenario = scenario.applications[number]
    return create_connection_admission(
        "eac",
        {
            "cto_s": described.cto_s,
            "ctn_s": described.ctn_s,
            "k_apl_s": scenario.interval_s,
            "ewma_alpha": scenario.ewma_alpha,
            "processors": float(scenario.processors) if scenario.provisioning == "linux" else 0.0,
        },
    )
