"""The CPU time of a decision in µs per event, for every policy and several queue lengths.

    make bench-policies
    make bench-policies ARGS="--policies sq,door-lifo --rounds 5"

The queue keeps its length during a round: a request arrives, the request in service ends, and the
policy chooses the next request for the worker. The measured time includes the gateway's driver,
which passes these events to the policy and carries out the decisions. Each round measures all
lengths. The cost at the longest queue, divided by the cost at the shortest queue, shows how the
cost of a decision grows. Some policies turn arrivals away before the queue has the wanted length.
For these policies, the longest possible queue is measured, and the table shows its length.

The last column is the cost of the policy as a shadow: the additional time for an arrival or a
completion in the gateway's dispatcher. SQ is the acting policy, at twice the shop's capacity. The
cost includes the shadow's model of the shop, its load samples and the comparison.
"""

import statistics
import time
from collections import deque
from collections.abc import Mapping
from typing import Final

import click

from bench.harness import console_of, table
from common.one_line import OneLineCommand
from gateway.policies import POLICIES, PolicyError
from gateway.policies.driver import Driver
from gateway.policies.interface import (
    PAGES,
    Drop,
    LoadSample,
    Outcome,
    Reject,
    Request,
)
from gateway.policies.registry import create, sheet
from gateway.queues.dispatcher import Dispatcher
from gateway.shadow.shadows import Shadows

LENGTHS: Final = (100, 10_000, 100_000)
EVENTS: Final = 3_000
"""The number of arrivals in a round, each followed by a dispatch and a completion."""
ROOM: Final[Mapping[str, float]] = {
    "capacity": 1_000_000,
    "browsing_capacity": 1_000_000,
    "transaction_capacity": 1_000_000,
    "places": 1_000_000,
    "limit": 1_000_000,
    "wait_s": 3_600.0,
    "interval_s": 600.0,
    "target_s": 600.0,
    "queueing_threshold_s": 600.0,
    "throttle_from": 1_000_000,
    "overloaded_at": 2_000_000,
}
"""Parameters with which a policy's queue becomes as long as the policy allows."""


class OneWorker:
    """A host of the driver, with one worker that is free or serves a request."""

    def __init__(self) -> None:
        self.free = 0
        self.served = 0
        """The id of the request in service."""

    def start(self, now_s: float, id: int, item: None) -> None:
        self.free, self.served = 0, id

    def refuse(self, now_s: float, id: int, item: None, verdict: Drop | Reject) -> None:
        pass

    def rejected(self, now_s: float, number: int) -> None:
        pass

    def cancel(self, now_s: float, id: int) -> None:
        pass

    def withdraw(self, now_s: float, id: int, item: None) -> None:
        pass


class Queue:
    """A policy with `length` waiting requests, or with fewer if the policy allows fewer."""

    def __init__(self, name: str, length: int) -> None:
        self._worker = OneWorker()
        self.driver = Driver[None](create(name, room(name)), self._worker, self._worker)
        self._ids = 0
        self._time_s = 0.0
        for _ in range(length):
            self._arrive()
        self.length = len(self.driver.waiting)
        self._worker.free = 1

    def round_us(self) -> float:
        driver, worker = self.driver, self._worker
        began_s = time.process_time()
        for _ in range(EVENTS):
            self._arrive()
            if not worker.free:
                worker.free = 1
                driver.completion(self._time_s, worker.served, Outcome.ANSWERED)
        taken_s = time.process_time() - began_s
        driver.load_sample(self._time_s, LoadSample(1.0, 8, 1.0))
        return 1e6 * taken_s / (3 * EVENTS)

    def _arrive(self) -> None:
        self._ids += 1
        self._time_s += 1e-6
        page = PAGES[self._ids % len(PAGES)]
        # Every second request belongs to a new session, so that policies see new and known
        # sessions.
        request = Request(self._ids, page, self._time_s, f"s{self._ids}", self._ids % 2 == 0)
        self.driver.arrival(self._time_s, request, None)


class Busy:
    """A dispatcher with or without a shadow policy, and a shop that completes requests in the
    order in which they began.
    """

    def __init__(self, name: str | None) -> None:
        self._time_s = 0.0
        self._in_service: deque[int] = deque()
        self._acting = Dispatcher(
            create("sq", {}), workers=30, clock_s=lambda: self._time_s, host=self
        )
        self._shadows = Shadows(self._acting, lambda: self._time_s)
        if name is not None:
            self._shadows.replace([(name, {}, create(name, {}))])
        self._ids = 0

    def round_us(self) -> float:
        """Return the microseconds of CPU per arrival or completion."""
        began_s = time.process_time()
        events = 0
        for _ in range(EVENTS):
            self._arrive()
            events += 1
            if self._ids % 2 == 0 and self._in_service:
                self._acting.finished(self._in_service.popleft(), Outcome.ANSWERED)
                events += 1
            if self._ids % 11 == 0:
                self._acting.load_sample(LoadSample(1.0, 30, 1.0))
        taken_s = time.process_time() - began_s
        (fault,) = [one["fault"] for one in self._shadows.figures()] or [""]
        if fault:
            raise click.ClickException(f"a shadow failed: {fault}")
        return 1e6 * taken_s / events

    def _arrive(self) -> None:
        self._ids += 1
        self._time_s += 0.09
        id = self._acting.new_id()
        page = PAGES[id % len(PAGES)]
        self._acting.submit(id, page, session=f"s{id}", session_is_new=id % 2 == 0, attempt=1)

    def start(self, id: int) -> None:
        self._in_service.append(id)

    def refuse(self, id: int, verdict: Drop | Reject) -> None:
        pass

    def cancel(self, id: int) -> None:
        pass

    def withdraw(self, id: int) -> None:
        pass


def room(name: str) -> dict[str, object]:
    """Return the entries of ROOM that are parameters of the policy."""
    taken = {parameter.name for parameter in sheet(name).parameters}
    return {key: value for key, value in ROOM.items() if key in taken}


@click.command(cls=OneLineCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--policies",
    default=",".join(POLICIES),
    help="The policies to measure, separated by commas; by default, all.",
)
@click.option("--rounds", type=click.IntRange(1, 1000), default=7, show_default=True)
def main(policies: str, rounds: int) -> None:
    """Print the CPU time per event in µs for each policy, as the median of the rounds."""
    lengths = (f"{length:,} wait" for length in LENGTHS)
    title = "CPU time per event"
    drawn = table(title, "policy", *lengths, "longest ÷ shortest", "as a shadow")
    alone = Busy(None)
    for name in policies.split(","):
        try:
            queues = [Queue(name, length) for length in LENGTHS]
        except PolicyError as error:
            raise click.BadParameter(str(error), param_hint="--policies") from None
        shadowed, added_us = Busy(name), []
        taken_us: list[list[float]] = [[] for _ in LENGTHS]
        for _ in range(rounds):
            for queue, times_us in zip(queues, taken_us, strict=True):
                times_us.append(queue.round_us())
            added_us.append(shadowed.round_us() - alone.round_us())
        medians = [statistics.median(times_us) for times_us in taken_us]
        drawn.add_row(
            name,
            *(
                f"{median_us:.2f} µs"
                + ("" if queue.length >= length else f" ({queue.length:,} wait)")
                for median_us, queue, length in zip(medians, queues, LENGTHS, strict=True)
            ),
            f"{medians[-1] / medians[0]:.2f}",
            f"{statistics.median(added_us):.1f} µs",
        )
    console_of(120).print(drawn)
