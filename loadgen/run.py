"""One process's share of a run: its sessions started on time, its attempts kept.

Owns: the arrival process of a part of the sessions (open loop) or of the customers (closed loop),
and the log and counts of their attempts.
Must not know: Locust's runners and messages, files, other processes.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice

from gevent.event import Event

from loadgen.attempts import Attempt, AttemptLog, AttemptOutcome
from loadgen.browser import Fetched, ShopAddress
from loadgen.customer import CustomerSession
from loadgen.options import ClosedLoop, Part, RunOptions
from loadgen.schedule import Lag, RunClock
from loadgen.shop_pages import PageRequest, Shopper
from loadgen.tally import Tally

Reporter = Callable[[Attempt, PageRequest, Fetched], None]
Spawn = Callable[[Callable[[], object]], None]

_AFTER_FAILURE_S = 1.0
"""Paper seconds a closed-loop customer waits after a session that failed."""


class LoadRun:
    """A part of a run. `play` starts everything and returns when the last session has ended."""

    def __init__(
        self,
        options: RunOptions,
        part: Part,
        address: ShopAddress,
        report: Reporter,
        spawn: Spawn,
    ) -> None:
        """`report` hears of every attempt that was made; `spawn` starts a customer's greenlet."""
        self.options = options
        self.part = part
        self.tally = Tally(options.part_of_plan(part), Lag(options.late_tolerance_s))
        self.log = AttemptLog()
        self.clock: RunClock | None = None
        self.finished = Event()
        self._address = address
        self._report = report
        self._spawn = spawn
        self._customers = options.customers()
        self._next_session = part.index

    def play(self, stop_customers: Callable[[], None]) -> None:
        """Runs the part in the calling greenlet; `stop_customers` ends what is still going on."""
        self.clock = RunClock(self.options.time_scale)
        if self.options.closed_loop:
            self._play_closed(self.options.closed_loop)
            stop_customers()
            self.finished.set()
        else:
            self._play_open()

    def _play_open(self) -> None:
        assert self.clock is not None
        arrivals = enumerate(islice(self._customers.arrivals(), self.options.sessions))
        for session, arrival_s in islice(arrivals, self.part.index, None, self.part.of):
            self.clock.sleep_until(arrival_s)
            self.tally.started += 1
            self._spawn(partial(self._play_session, session, arrival_s))
        if self.tally.planned == 0:
            self.finished.set()
        self.finished.wait()

    def _play_closed(self, closed: ClosedLoop) -> None:
        assert self.clock is not None
        for _ in range(self.tally.planned):
            self._spawn(self._one_session_after_another)
        self.clock.sleep_until(closed.warm_up_s + closed.duration_s)

    def _one_session_after_another(self) -> None:
        assert self.clock is not None
        while True:
            session = self._next_session
            self._next_session += self.part.of
            self.tally.started += 1
            if not self._play_session(session, self.clock.now_s()):
                # Nothing may be listening: asking again at once would only burn the CPU.
                self.clock.sleep_until(self.clock.now_s() + _AFTER_FAILURE_S)

    def _play_session(self, session: int, arrival_s: float) -> bool:
        assert self.clock is not None
        shopper = Shopper(
            self.options.seed, session, self.options.account, self.options.account_password
        )
        customer = CustomerSession(
            session, self._customers, shopper, self._address, self.clock, self._saw
        )
        try:
            succeeded = customer.run(arrival_s)
        except Exception:
            self.tally.broken += 1
            self._ended()
            raise
        # A session that is cut by the end of the run raises GreenletExit: started, never ended.
        self._ended()
        return succeeded

    def _ended(self) -> None:
        self.tally.ended += 1
        if not self.options.closed_loop and self.tally.ended == self.tally.planned:
            self.finished.set()

    def _saw(self, attempt: Attempt, request: PageRequest | None, fetched: Fetched | None) -> None:
        self.log.append(attempt)
        self.tally.saw(attempt.page, AttemptOutcome(attempt.outcome))
        if attempt.started_s is not None and attempt.intended_s is not None:
            self.tally.lag.saw((attempt.started_s - attempt.intended_s) / self.options.time_scale)
        if request is not None and fetched is not None:
            self._report(attempt, request, fetched)
