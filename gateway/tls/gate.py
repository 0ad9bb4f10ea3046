"""The gate for TLS connections: the admission policy for connections, its clock and its counts.

All handshake threads call one `ConnectionAdmission`, the policy. When the policy's timer is due,
the event loop calls the policy. If a connection comes before this call, the connection's thread
calls the policy.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Final

from gateway.clock import PaperClock
from gateway.policies import registry

COUNTS: Final = (
    "new",
    "resumed",
    "accepted_new",
    "refused",
    "handshake_failed",
    "handshake_timed_out",
    "evicted",
    "turned_away",
)
"""The names of the counts, which begin at 0 when the gateway starts.

- `new` and `resumed`: classified connections.
- `accepted_new` and `refused`: new connections that the policy accepted or refused.
- `handshake_failed`: connections that ended during the handshake, for a reason without a separate
  count.
- `evicted`: handshakes that lost their place to another while they waited for their customer.
- `turned_away`: connections that got no place, because every handshake had to keep its place.
"""


class ConnectionGate:
    """The admission of connections on a port; call `start` first, and `stop` once at the end.

    Any thread may call `connection`; all other methods run in the loop's thread.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: PaperClock,
        name: str = "none",
        parameters: Mapping[str, object] | None = None,
        *,
        most_processors: int = 1,
    ) -> None:
        """Create the policy `name`; raise PolicyError if the choice is invalid. `most_processors`
        is the number of processors that the application can use.
        """
        self._loop = loop
        self._clock = clock
        self._lock = threading.Lock()
        self._parameters: Mapping[str, object] = parameters or {}
        self.admission = registry.create_connection_admission(name, self._parameters)
        self._most_processors = most_processors
        self._processors: float | None = None
        self._newest_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_started = False
        self.requested_anew: Callable[[], None] = lambda: None
        """A function that is called when `processors_wanted` or `request_to_send` may have
        changed.
        """
        self.under_way = 0  # handshakes; `HandshakePlaces` counts them
        self._counts = dict.fromkeys(COUNTS, 0)

    # ---- the policy ------------------------------------------------------------------------------

    def connection(self, resumed: bool) -> bool:
        """Return whether a connection may continue; `resumed` is true if it resumes a session, and
        false if it begins one.
        """
        with self._lock:
            now_s = self._caught_up_s()
            is_accepted = self.admission.connection(now_s, resumed=resumed)
            self._counts["resumed" if resumed else "new"] += 1
            if not is_accepted:
                self._counts["refused"] += 1
            elif not resumed:
                self._counts["accepted_new"] += 1
            return is_accepted

    def assigned(self, processors: float) -> None:
        """Set A_i, the number of processors assigned to the application."""
        with self._lock:
            self._processors = processors
            self.admission.assigned(self.now_s(), processors)

    @property
    def processors_wanted(self) -> int | None:
        """The number of processors to request, R_i; None if the policy never requests processors or
        does not know the number yet.
        """
        with self._lock:
            return self.admission.requested

    @property
    def request_to_send(self) -> int | None:
        """The request R_i for the CPU manager; None if there is nothing to send. If the policy
        never requests processors, it does not measure the load, and the application requests all
        processors that it can use.
        """
        with self._lock:
            if not self.admission.asks_for_processors:
                return self._most_processors
            return self.admission.requested

    def replace(self, name: str, parameters: Mapping[str, object]) -> None:
        """Switch the policy; if the choice is invalid, raise PolicyError and change nothing."""
        admission = registry.create_connection_admission(name, parameters)
        with self._lock:
            self.admission = admission
            self._parameters = dict(parameters)
            if self._processors is not None:
                admission.assigned(self.now_s(), self._processors)
        self.reschedule()
        self.requested_anew()

    @property
    def name(self) -> str:
        return self.admission.name

    def snapshot(self) -> dict[str, object]:
        with self._lock:
            return dict(self.admission.snapshot())

    def described(self) -> dict[str, object]:
        """Return the name, all parameters and the state of the policy, ready for JSON."""
        with self._lock:
            name, snapshot = self.admission.name, dict(self.admission.snapshot())
        sheet = registry.connection_admission_sheet(name)
        return {"name": name, "parameters": sheet.read(self._parameters), "snapshot": snapshot}

    # ---- counts ----------------------------------------------------------------------------------

    def count(self, what: str) -> None:
        """Add 1 to a count of `COUNTS`."""
        with self._lock:
            self._counts[what] += 1

    def counts(self) -> dict[str, int]:
        """Return the counts `COUNTS` and `under_way`, the number of handshakes in progress."""
        with self._lock:
            return {**self._counts, "under_way": self.under_way}

    # ---- time ------------------------------------------------------------------------------------

    def start(self) -> None:
        self._is_started = True
        self.reschedule()

    def stop(self) -> None:
        self._is_started = False
        self.reschedule()

    def reschedule(self) -> None:
        """Set the timer again, after a change of the policy or of the time scale."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._is_started:
            return
        with self._lock:
            due_s = self.admission.next_timer_s()
            now_s = self.now_s()
        if due_s is not None:
            delay_s = max(0.0, self._clock.real_s(due_s - now_s))
            self._timer = self._loop.call_later(delay_s, self._timer_due)

    def _timer_due(self) -> None:
        with self._lock:
            self._caught_up_s()
        self.reschedule()
        self.requested_anew()

    def _caught_up_s(self) -> float:
        """Call the policy's timer if it is due, and return the present paper time. A connection may
        come before the loop's timer, and the loop's timer may be slightly early.
        """
        now_s = self.now_s()
        due_s = self.admission.next_timer_s()
        if due_s is not None and due_s <= now_s:
            self.admission.timer_due(now_s)
        return now_s

    def now_s(self) -> float:
        """Return the present paper time, which is never before the policy's latest event."""
        self._newest_s = max(self._newest_s, self._clock())
        return self._newest_s
