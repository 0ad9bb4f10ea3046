"""The comparison of a shadow's decisions with the acting policy's decisions."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final

from gateway.policies.interface import PAGES, Page, Request
from gateway.shadow.shop import Decision

SAME_WITHIN_S: Final = 0.5
"""The maximum difference, in paper seconds, between two start times that count as equal: about
twice the service time of a mean page.
"""
KEPT: Final = 20
"""The number of newest disagreements that are kept."""

VERDICTS: Final = (
    "same",  # both served within SAME_WITHIN_S, both refused, or the customer left both queues
    "earlier",  # both served, the shadow earlier
    "later",  # both served, the shadow later
    "would_refuse",  # the shadow refused a request that was served or whose customer left
    "would_serve",  # the shadow served a request that was refused or whose customer left
    "would_lose",  # served or refused, but the customer left before the shadow had decided
    "absent",  # not decided: the shadow had refused an earlier page of the session
)
"""The possible results of comparing a shadow's decision with the acting policy's decision."""

_BY_SAID: Final[Mapping[str, str]] = {
    "served": "would_serve",
    "refused": "would_refuse",
    "left": "would_lose",
}


def verdict(acted: Decision, said: Decision) -> str:
    """Compare the two decisions about a request, and return one of VERDICTS."""
    if acted.kind != said.kind:
        return _BY_SAID[said.kind]
    if said.kind == "served" and abs(said.at_s - acted.at_s) > SAME_WITHIN_S:
        return "earlier" if said.at_s < acted.at_s else "later"
    return "same"


class Tally:
    """The counts of verdicts since `since_s`, and the time differences. All times are in paper
    seconds."""

    def __init__(self, since_s: float) -> None:
        self.since_s = since_s
        self._verdicts: dict[Page, Counter[str]] = {page: Counter() for page in PAGES}
        self._shift_s: dict[Page, dict[str, float]] = {
            page: {"earlier": 0.0, "later": 0.0} for page in PAGES
        }
        self._disagreements: deque[tuple[Request, str, Decision, Decision]] = deque(maxlen=KEPT)

    def add(self, request: Request, acted: Decision, said: Decision) -> None:
        """Count a request on which both policies have decided."""
        found = verdict(acted, said)
        self._verdicts[request.page][found] += 1
        if found == "same":
            return
        if found in ("earlier", "later"):
            self._shift_s[request.page][found] += abs(said.at_s - acted.at_s)
        self._disagreements.append((request, found, acted, said))

    def absent(self, request: Request) -> None:
        """Count a request that its customer would not have sent in the shadow's world."""
        self._verdicts[request.page]["absent"] += 1

    def counts(self) -> dict[str, int]:
        """Return the number of requests for each result in VERDICTS."""
        return {name: sum(n[name] for n in self._verdicts.values()) for name in VERDICTS}

    def figures(self) -> dict[str, object]:
        """Return the metrics, ready for JSON.

        `asked` is the number of requests on which both policies decided. `agrees_ratio` is the
        share of these requests with the result `same` (None before the first). `verdicts` contains
        the number of requests for each result. `earlier_s` and `later_s` are the mean times by
        which the shadow was earlier or later. `pages` has the same numbers for each page type.
        """
        return {
            "since_s": self.since_s,
            **_figures(
                self.counts(),
                {
                    way: sum(shift_s[way] for shift_s in self._shift_s.values())
                    for way in ("earlier", "later")
                },
            ),
            "pages": {
                page: _figures(self._verdicts[page], self._shift_s[page])
                for page in PAGES
                if self._verdicts[page]
            },
        }

    def disagreements(self) -> list[dict[str, object]]:
        """Return the latest disagreements, the newest first: `id`, `page`, `is_new`, `attempt`,
        `arrived_s`, `verdict`, and the decisions `acted` and `said`. A decision has its kind, its
        time in paper seconds after the arrival, the number of waiting requests, and the reason.
        """
        return [
            {
                "id": request.id,
                "page": request.page,
                "is_new": request.session_is_new,
                "attempt": request.attempt,
                "arrived_s": round(request.arrived_s, 3),
                "verdict": found,
                "acted": _described(request, acted),
                "said": _described(request, said),
            }
            for request, found, acted, said in reversed(self._disagreements)
        ]


def _figures(verdicts: Mapping[str, int], shift_s: Mapping[str, float]) -> dict[str, object]:
    asked = sum(verdicts.values()) - verdicts["absent"]
    return {
        "asked": asked,
        "agrees_ratio": verdicts["same"] / asked if asked else None,
        "verdicts": {name: verdicts[name] for name in VERDICTS},
        **{
            f"{name}_s": shift_s[name] / verdicts[name] if verdicts[name] else None
            for name in ("earlier", "later")
        },
    }


def _described(request: Request, decision: Decision) -> dict[str, object]:
    return {
        "kind": decision.kind,
        "after_s": round(decision.at_s - request.arrived_s, 3),
        "waiting": decision.waiting,
        "reason": decision.reason,
    }
