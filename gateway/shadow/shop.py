"""The shadow's model of the shop and its customers. It calculates the end of requests that the real
shop serves at another time or never.

The real shop and the shadow's shop are each modelled as a server whose CPU all requests in service
share, like LIFO-Pri's server (docs/simulator.md). With n requests in service, each request gets 1 /
max(FILL, n) CPU seconds of work per second. The work of a request is known once the real shop has
finished the request. Until then, the model uses the mean of the page type, or more if the real shop
has already spent more.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import sqrt
from typing import Final, NamedTuple

from common.page_types import BUSY_RATIO
from gateway.policies.interface import Outcome, Page, Request
from gateway.policies.patience_estimate import PatienceEstimate

FILL: Final = 1.0 / BUSY_RATIO
"""The number of requests in service that keep a CPU fully busy. It is above 1, because a request
also waits for the back end.
"""
FIRST_GUESS_S: Final = 0.2501 * BUSY_RATIO
"""The assumed CPU seconds of a request until one has been measured: the mean of LIFO-Pri's Table 2,
weighted by how often each page is requested.
"""
REMEMBERED: Final = 200
"""The approximate number of latest requests in the mean of a page type."""
AGES: Final = 16
UNKNOWN_S: Final = 20.0
"""The mean patience of LIFO-Pri's customers in paper seconds; the patience is 8 s + Exp(12 s)."""
_SHARES: Final = [(number + 0.5) / AGES for number in range(AGES)]
_GOLDEN: Final = (sqrt(5.0) - 1.0) / 2.0
"""The golden ratio; the fractional parts of its multiples are spread evenly, without randomness."""
EXACT_S: Final = 1e-6
"""The difference, in seconds of work, below which two sums count as equal."""


class Decision(NamedTuple):
    """A decision about a request: its kind, the time `at_s`, and the number of waiting requests at
    this time. `kind` is `served` (given to a worker), `refused`, or `left` (the customer left
    before a decision).
    """

    kind: str
    at_s: float
    waiting: int
    reason: str = ""


@dataclass(slots=True, eq=False)
class RealRequest:
    """A request in the real world, and its progress in the real shop."""

    request: Request
    decision: Decision | None = None
    started_s: float | None = None
    """The time at which the real shop received the request, or at which the model first saw the
    request in service; a decision `left` may be earlier.
    """
    from_work_s: float = 0.0
    """The `work_s` of the real shop's account when the request was dispatched or first seen in
    service.
    """
    is_measured: bool = True
    """Whether the model has seen the request since its dispatch."""
    work_s: float | None = None
    """The work of the request, known once the real shop has finished it."""
    outcome: Outcome | None = None
    ended_s: float | None = None
    has_left: bool = False

    def is_in_service(self, time_s: float) -> bool:
        """Return whether the request was in the real shop at `time_s`, a time in the past."""
        if self.started_s is None or self.started_s > time_s:
            return False
        return self.ended_s is None or self.ended_s > time_s


class Account:
    """The account of a shop's work, in which all requests in service get the same share. `work_s`
    is the CPU time that a request would have got if it had been in service since the account was
    opened.
    """

    def __init__(self, now_s: float) -> None:
        self.in_service = 0
        self.at_s = now_s
        self.work_s = 0.0
        self.busy_s = 0.0
        """The busy CPU seconds since the account was opened."""
        self._before = (now_s, 0.0, FILL)

    def advance(self, now_s: float) -> None:
        """Update the account to `now_s`, before `in_service` changes."""
        passed_s = now_s - self.at_s
        if passed_s <= 0.0:
            return
        shares = max(FILL, self.in_service)
        self._before = (self.at_s, self.work_s, shares)
        self.work_s += passed_s / shares
        self.busy_s += passed_s * self.in_service / shares
        self.at_s = now_s

    def work_at(self, time_s: float) -> float:
        """Return `work_s` at `time_s`, which must not be before the latest step of `advance`."""
        if time_s >= self.at_s:
            return self.work_s + (time_s - self.at_s) / max(FILL, self.in_service)
        at_s, work_s, shares = self._before
        return work_s + (time_s - at_s) / shares

    def time_of(self, work_s: float) -> float:
        """Return the time at which the account will reach `work_s` if `in_service` does not change;
        if it has already reached `work_s`, return `at_s`.
        """
        return self.at_s + max(0.0, work_s - self.work_s) * max(FILL, self.in_service)


class Needs:
    """The mean work per request of each page type, measured in the real shop."""

    def __init__(self) -> None:
        self._known: dict[Page, tuple[int, float]] = {}

    def add(self, page: Page, work_s: float) -> None:
        """Add the work of a finished request."""
        number, mean_s = self._known.get(page, (0, 0.0))
        number = min(REMEMBERED, number + 1)
        self._known[page] = (number, mean_s + (work_s - mean_s) / number)

    def of(self, page: Page) -> float:
        """Return the mean work of the page type or, while that is unknown, of all page types."""
        if page in self._known:
            return self._known[page][1]
        total = sum(number for number, _ in self._known.values())
        if not total:
            return FIRST_GUESS_S
        return sum(number * mean_s for number, mean_s in self._known.values()) / total


class Customers:
    """The real customers' patience, recorded as in `PatienceEstimate`.

    A customer who leaves in the real world leaves in the shadow's world at the same time. If the
    real world has already answered or refused a request that is still in the shadow's world, its
    customer's patience is unknown. This class estimates AGES equally likely patiences from the real
    requests (product-limit estimate), and chooses one that is longer than the request's present
    age. Until there is an estimate, the class uses UNKNOWN_S.
    """

    def __init__(self) -> None:
        self._estimate = PatienceEstimate()
        self._ages_s: list[float] = []

    def left(self, age_s: float) -> None:
        self._estimate.left(age_s)

    def stayed(self, age_s: float) -> None:
        self._estimate.stayed(age_s)

    def fade(self, elapsed_s: float) -> None:
        self._estimate.fade(elapsed_s)
        self._ages_s = self._estimate.quantiles_s(_SHARES) or []

    def leaves_s(self, request: Request, now_s: float) -> float:
        """Return the time (`now_s` or later) at which the customer would leave."""
        age_s = now_s - request.arrived_s
        if not self._ages_s:
            return max(now_s, request.arrived_s + UNKNOWN_S)
        longer_s = [one_s for one_s in self._ages_s if one_s > age_s]
        if not longer_s:
            return now_s
        return request.arrived_s + longer_s[int(request.id * _GOLDEN % 1.0 * len(longer_s))]


@dataclass(slots=True, eq=False)
class _Serving:
    real_request: RealRequest
    from_work_s: float
    done_at_work_s: float


@dataclass(slots=True)
class ModelShop:
    """A model of the shop, with a shadow's requests in service. `account` is the model's account,
    and `real` is the real shop's.
    """

    real: Account
    needs: Needs
    account: Account
    _serving: dict[int, _Serving] = field(default_factory=dict)
    _done: list[tuple[float, int]] = field(default_factory=list)
    """A heap of (`work_s` of the account at which the request is done, id); a pair is valid only if
    `done_at_work_s` in `_serving` is the same.
    """
    _late: dict[int, None] = field(default_factory=dict)
    """The requests on which the real shop has spent the mean work without finishing them."""

    def __contains__(self, id: int) -> bool:
        return id in self._serving

    def real_request(self, id: int) -> RealRequest:
        """Return the record of a request that is in service in this model."""
        return self._serving[id].real_request

    def start(self, now_s: float, real_request: RealRequest, got_s: float = 0.0) -> None:
        """Put a request into service; `got_s` is the work that it has already got."""
        account = self.account
        account.advance(now_s)
        need_s = (
            self.needs.of(real_request.request.page)
            if real_request.work_s is None
            else real_request.work_s
        )
        from_work_s = account.work_s - got_s
        self._serving[real_request.request.id] = _Serving(real_request, from_work_s, 0.0)
        self._set_done(real_request.request.id, from_work_s + need_s)
        account.in_service += 1

    def real_one_done(self, real_request: RealRequest) -> None:
        """Set the work of a request in service to the amount measured in the real shop."""
        id = real_request.request.id
        serving = self._serving[id]
        if real_request.work_s is not None:
            self._late.pop(id, None)
            self._set_done(id, serving.from_work_s + real_request.work_s)

    def end(self, now_s: float, id: int) -> RealRequest:
        """Remove a request from service, finished or not."""
        self.account.advance(now_s)
        self.account.in_service -= 1
        self._late.pop(id, None)
        return self._serving.pop(id).real_request

    def next_done(self, until_s: float) -> tuple[float, int] | None:
        """Return (time, id) of the next request that is done by `until_s`, the present time; None
        if there is none. Call `end` for this request before the next call.
        """
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
        real_request = serving.real_request
        if real_request.work_s is not None or not real_request.is_in_service(time_s):
            return True
        got_s = self.account.work_at(time_s) - serving.from_work_s
        return got_s > self.real.work_at(time_s) - real_request.from_work_s + EXACT_S

    def _set_done(self, id: int, done_at_work_s: float) -> None:
        self._serving[id].done_at_work_s = done_at_work_s
        heappush(self._done, (done_at_work_s, id))
