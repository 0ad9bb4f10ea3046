"""Who waits, who is served, what became of the others; and which verdicts are allowed.

Owns: the rules of verdicts, said to the author of a policy. Must not know: any policy, any driver.

The gateway's dispatcher holds the same rules for its own policies, where breaking one is a fault of
this project; here it is a lesson.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from gateway.policies.interface import Cancel, Dispatch, Drop, Reject, Request, Verdict, Verdicts

_REMEMBERED: Final = 10_000


class BrokenRuleError(ValueError):
    """A verdict that the rules forbid; one line that teaches."""


class Ledger:
    """Kept by whoever drives a policy that is not trusted."""

    def __init__(self) -> None:
        self.waiting: dict[int, Request] = {}
        """By id, in order of arrival."""
        self.in_service: set[int] = set()
        self._left: set[int] = set()
        self._fates: OrderedDict[int, str] = OrderedDict()

    def arrived(self, request: Request) -> None:
        """It waits from now on."""
        self.waiting[request.id] = request

    def adopted(self, requests: Iterable[Request]) -> None:
        """They waited under another policy."""
        for request in requests:
            self.arrived(request)

    def completed(self, time_s: float, id: int) -> None:
        """A dispatched one has ended."""
        self.in_service.discard(id)
        self._end(id, f"ended at {time_s:g} s")

    def customer_left(self, id: int) -> None:
        """Whoever asked waits for nothing any more."""
        if id in self.waiting:
            self._left.add(id)

    def withdrawn(self, time_s: float, id: int) -> None:
        """The driver has taken it back."""
        self._take(id, f"was withdrawn at {time_s:g} s")

    def obey(self, time_s: float, event: str, verdicts: Verdicts, offered: int = 0) -> None:
        """Put the verdicts down, `offered` workers being free; raises BrokenRuleError before any of
        them is."""
        if not verdicts:
            return
        self._check(event, verdicts, offered)
        for verdict in verdicts:
            id = verdict.id
            if type(verdict) is Dispatch:
                del self.waiting[id]
                self._left.discard(id)
                self.in_service.add(id)
            elif type(verdict) is Drop:
                self._take(id, f"was dropped at {time_s:g} s")
            elif type(verdict) is Reject:
                self._take(id, f"was rejected at {time_s:g} s")
            elif id in self.waiting:
                self._take(id, f"was cancelled at {time_s:g} s")

    def _check(self, event: str, verdicts: Verdicts, offered: int) -> None:
        judged: set[int] = set()
        dispatched = 0
        for verdict in verdicts:
            id = verdict.id
            if id in judged:
                raise BrokenRuleError(f"{_short(verdict)}: {event} gave two verdicts on {id}")
            judged.add(id)
            if type(verdict) is Cancel and id in self.in_service:
                continue
            if id not in self.waiting:
                raise BrokenRuleError(f"{_short(verdict)} in {event}, although {self._story(id)}")
            if type(verdict) is Cancel and id not in self._left:
                raise BrokenRuleError(
                    f"{_short(verdict)} in {event}, although {id} waits and its customer is still "
                    "there; Cancel is for who has left, Drop and Reject turn others away"
                )
            if type(verdict) is Dispatch:
                dispatched += 1
        if dispatched > offered:
            if event != "workers_free":
                raise BrokenRuleError(
                    f"{event} answered with Dispatch; only workers_free may: keep the request, you "
                    "are asked for one as soon as a worker is free"
                )
            raise BrokenRuleError(
                f"workers_free was offered {offered} and answered {dispatched} Dispatch; "
                "dispatch at most `free` of them"
            )

    def _story(self, id: int) -> str:
        if id in self.in_service:
            return (
                f"{id} is in service already; take a request out of your queue when you dispatch it"
            )
        if id in self._fates:
            return (
                f"{id} {self._fates[id]}; take a request out of your queue when you give a verdict "
                "on it, and in withdraw"
            )
        return f"there is no request {id}; verdicts name the id of a request that waits"

    def _take(self, id: int, fate: str) -> None:
        del self.waiting[id]
        self._left.discard(id)
        self._end(id, fate)

    def _end(self, id: int, fate: str) -> None:
        self._fates[id] = fate
        if len(self._fates) > _REMEMBERED:
            self._fates.popitem(last=False)


def _short(verdict: Verdict) -> str:
    return f"{type(verdict).__name__}({verdict.id})"
