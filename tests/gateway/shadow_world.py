"""A gateway's dispatcher and a shop in virtual time, with customers who come whatever happens.

The shop is one server that all requests in service share (processor sharing). It is calculated step
by step, and differently from `gateway.shadow.shop`.
"""

from dataclasses import dataclass
from math import inf

from gateway.policies.interface import LoadSample, Outcome, Page
from gateway.queues.dispatcher import Dispatcher
from gateway.shadow.shadows import Shadows
from gateway.shadow.shop import FILL


@dataclass
class Comes:
    """A request to come: its time, page and work (CPU seconds), and the time when its customer
    leaves."""

    at_s: float
    page: Page = Page.HOME
    work_s: float = 0.2
    patience_s: float = inf
    session: str | None = None
    is_new: bool = True


class World:
    """A dispatcher in which `policy` acts; the policies given to `beside` are its shadows."""

    def __init__(self, policy, *, workers=30, abandonment="ignore"):
        self.now_s = 0.0
        self.acting = Dispatcher(
            policy,
            workers=workers,
            clock_s=lambda: self.now_s,
            host=self,
            abandonment=abandonment,
        )
        self.shadows = Shadows(self.acting, lambda: self.now_s)
        self.served, self.refused, self.left = {}, {}, set()
        self._works = {}
        self._missing_s = {}
        self._leaves = {}
        self._busy_s = 0.0
        self._cancelled = []

    def beside(self, **policies):
        """Set the shadows by name."""
        self.shadows.replace([(name, {"name": name}, policy) for name, policy in policies.items()])

    def run(self, requests, until_s=inf):
        """Let all requests come in this order, then serve the rest until nothing happens."""
        requests = sorted(requests, key=lambda one: one.at_s)
        place, sample_s = 0, self.now_s + 1.0
        while True:
            shares = max(FILL, len(self._missing_s))
            least_s = min(self._missing_s.values(), default=inf)
            done_s = self.now_s + least_s * shares
            arrival_s = requests[place].at_s if place < len(requests) else inf
            leaves_s = min(self._leaves.values(), default=inf)
            timer_s = self.acting.next_timer_s()
            timer_s = inf if timer_s is None else max(timer_s, self.now_s)
            if min(done_s, arrival_s, timer_s) == inf and leaves_s == inf:
                return
            next_s = min(done_s, arrival_s, leaves_s, timer_s, sample_s)
            if next_s > until_s:
                return
            passed_s = next_s - self.now_s
            for id in self._missing_s:
                self._missing_s[id] -= passed_s / shares
            self._busy_s += passed_s * len(self._missing_s) / shares
            self.now_s = next_s
            if next_s == done_s:
                self.done(min(self._missing_s, key=self._missing_s.get))
            elif next_s == leaves_s:
                id = min(self._leaves, key=self._leaves.get)
                del self._leaves[id]
                self.left.add(id)
                self.acting.client_left(id)
                while self._cancelled:
                    self.done(self._cancelled.pop(), Outcome.CANCELLED)
            elif next_s == arrival_s:
                self._come(requests[place])
                place += 1
            elif next_s == timer_s:
                self.acting.tick(timer_s)
            else:
                ratio, self._busy_s = self._busy_s, 0.0
                sample_s += 1.0
                self.acting.load_sample(LoadSample(min(1.0, ratio), len(self._missing_s), 1.0))

    def _come(self, one):
        id = self.acting.new_id()
        self._works[id] = one.work_s
        if one.patience_s < inf:
            self._leaves[id] = one.at_s + one.patience_s
        self.acting.submit(id, one.page, session=one.session, session_is_new=one.is_new, attempt=1)

    def done(self, id, outcome=None):
        del self._missing_s[id]
        self._leaves.pop(id, None)
        awaited = Outcome.ORPHANED if id in self.left else Outcome.ANSWERED
        self.acting.finished(id, outcome or awaited)

    def start(self, id):
        self.served[id] = self.now_s
        self._missing_s[id] = self._works[id]

    def refuse(self, id, verdict):
        self._leaves.pop(id, None)
        self.refused[id] = self.now_s

    def cancel(self, id):
        self._cancelled.append(id)

    def withdraw(self, id):
        pass
