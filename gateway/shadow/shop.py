"""The shop of a shadow: when a request would be done that the real shop never got, or got later.

Owns: how far requests in service have got, in the real shop and in one that is only thought of;
how much work a page type needs. Must not know: policies, what is compared with what.

Both shops are one server whose CPU is shared by whoever is in service (processor sharing), as
LIFO-Pri's is (docs/simulator.md). So a policy that keeps eight requests in service finds its pages
done sooner than one that keeps thirty, and both finish as many a second. With n in service each
request gets 1 / max(FILL, n) seconds of work in a second. What a request needs is known once the
real shop has finished it; before that the mean of its page type stands in, unless the real shop
has given it as much already and is not done: then it needs more.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

from gateway.policies.interface import Outcome, Page, Request

BUSY_RATIO: Final = 0.714
"""Share of an execution time that is CPU, the rest waits (design: LIFO-Pri's ρ = 1 at 5.6/s)."""
FILL: Final = 1.0 / BUSY_RATIO
"""So many requests in service fill a CPU: as one waits for the back end, another computes."""
FIRST_GUESS_S: Final = 0.2501 * BUSY_RATIO
"""CPU seconds of a request until one has been measured (LIFO-Pri, Table 2, by its chain)."""
REMEMBERED: Final = 200
"""About so many of the last requests of a page type make its mean."""
EXACT_S: Final = 1e-6
"""Seconds of work that make no difference: what rounding leaves of equal sums is far less."""


class Decision(NamedTuple):
    """What became of a request at `at_s`, while so many others waited.

    `kind` is `served` (given to a worker), `refused`, or `left`: its customer went before that.
    """

    kind: str
    at_s: float
    waiting: int
    reason: str = ""


@dataclass(slots=True, eq=False)
class Deed:
    """A request in the real world, as far as it has got there."""

    request: Request
    decision: Decision | None = None
    started_s: float | None = None
    """When the real shop got it; `left` may have been said before."""
    from_work_s: float = 0.0
    """The real shop's account when it was dispatched, or first seen in service."""
    is_measured: bool = True
    """Whether it was seen from its dispatch on."""
    work_s: float | None = None
    """What it needed, once the real shop has finished it."""
    outcome: Outcome | None = None
    ended_s: float | None = None
    has_left: bool = False

    def is_in_service(self, time_s: float) -> bool:
        """Whether the real shop had it at `time_s`, which is not later than now."""
        if self.started_s is None or self.started_s > time_s:
            return False
        return self.ended_s is None or self.ended_s > time_s


class Account:
    """Work that whoever is in service has got since the account was opened; all get alike."""

    def __init__(self, now_s: float) -> None:
        self.in_service = 0
        self.at_s = now_s
        self.work_s = 0.0
        self.busy_s = 0.0
        """Of the CPU, since the account was opened."""
        self._before = (now_s, 0.0, FILL)

    def advance(self, now_s: float) -> None:
        """Bring it up to `now_s`; to be called before `in_service` changes."""
        passed_s = now_s - self.at_s
        if passed_s <= 0.0:
            return
        shares = max(FILL, self.in_service)
        self._before = (self.at_s, self.work_s, shares)
        self.work_s += passed_s / shares
        self.busy_s += passed_s * self.in_service / shares
        self.at_s = now_s

    def work_at(self, time_s: float) -> float:
        """The account at a time not before the step that led to `at_s`."""
        if time_s >= self.at_s:
            return self.work_s + (time_s - self.at_s) / max(FILL, self.in_service)
        at_s, work_s, shares = self._before
        return work_s + (time_s - at_s) / shares

    def time_of(self, work_s: float) -> float:
        """When the account comes to `work_s` if nobody comes or goes; not before `at_s`."""
        return self.at_s + max(0.0, work_s - self.work_s) * max(FILL, self.in_service)


class Needs:
    """Work that a request of each page type needs, as the real shop has shown."""

    def __init__(self) -> None:
        self._known: dict[Page, tuple[int, float]] = {}

    def add(self, page: Page, work_s: float) -> None:
        """A request has been finished."""
        number, mean_s = self._known.get(page, (0, 0.0))
        number = min(REMEMBERED, number + 1)
        self._known[page] = (number, mean_s + (work_s - mean_s) / number)

    def of(self, page: Page) -> float:
        """The mean of the page type; of all of them while it is not known."""
        if page in self._known:
            return self._known[page][1]
        total = sum(number for number, _ in self._known.values())
        if not total:
            return FIRST_GUESS_S
        return sum(number * mean_s for number, mean_s in self._known.values()) / total


@dataclass(slots=True, eq=False)
class _Serving:
    deed: Deed
    from_work_s: float
    done_at_work_s: float


@dataclass(slots=True)
class ThoughtShop:
    """What a shadow has in service; `real` is the account of the real shop."""

    real: Account
    needs: Needs
    account: Account
    _serving: dict[int, _Serving] = field(default_factory=dict)
    _done: list[tuple[float, int]] = field(default_factory=list)
    """A heap of (account when done, id); void unless it is what `_serving` says."""
    _late: dict[int, None] = field(default_factory=dict)
    """Whose need turned out to be more than the mean: the real shop has not done them yet."""

    def __contains__(self, id: int) -> bool:
        return id in self._serving

    def deed(self, id: int) -> Deed:
        """Of a request that is in service here."""
        return self._serving[id].deed

    def start(self, now_s: float, deed: Deed, got_s: float = 0.0) -> None:
        """A request goes into service; `got_s` of its work is done already."""
        account = self.account
        account.advance(now_s)
        need_s = self.needs.of(deed.request.page) if deed.work_s is None else deed.work_s
        from_work_s = account.work_s - got_s
        self._serving[deed.request.id] = _Serving(deed, from_work_s, 0.0)
        self._set_done(deed.request.id, from_work_s + need_s)
        account.in_service += 1

    def real_one_done(self, deed: Deed) -> None:
        """The real shop has shown what a request needs that is in service here."""
        id = deed.request.id
        serving = self._serving[id]
        if deed.work_s is not None:
            self._late.pop(id, None)
            self._set_done(id, serving.from_work_s + deed.work_s)

    def end(self, now_s: float, id: int) -> Deed:
        """A request goes out of service, done or not."""
        self.account.advance(now_s)
        self.account.in_service -= 1
        self._late.pop(id, None)
        return self._serving.pop(id).deed

    def next_done(self, until_s: float) -> tuple[float, int] | None:
        """(time, id) of the next request that is done by `until_s`, the time of what happens now;
        to be asked again after its `end`."""
        account = self.account
        until_work_s = account.work_at(until_s)
        while self._done and self._done[0][0] <= until_work_s + EXACT_S:
            done_at_work_s, id = heappop(self._done)
            serving = self._serving.get(id)
            if serving is None or serving.done_at_work_s != done_at_work_s or id in self._late:
                continue
            is_now = done_at_work_s >= until_work_s - EXACT_S
            time_s = until_s if is_now else account.time_of(done_at_work_s)
            if self._may_be_done(serving, time_s):
                return time_s, id
            self._late[id] = None
        for id in self._late:
            if self._may_be_done(self._serving[id], until_s):
                return until_s, id
        return None

    def _may_be_done(self, serving: _Serving, time_s: float) -> bool:
        deed = serving.deed
        if deed.work_s is not None or not deed.is_in_service(time_s):
            return True
        got_s = self.account.work_at(time_s) - serving.from_work_s
        return got_s > self.real.work_at(time_s) - deed.from_work_s + EXACT_S

    def _set_done(self, id: int, done_at_work_s: float) -> None:
        self._serving[id].done_at_work_s = done_at_work_s
        heappush(self._done, (done_at_work_s, id))
