"""Prioritised rejection, which rejects the lowest priorities first, along a cubic curve, as
Netflix' Zuul does.
"""

from collections.abc import Mapping

from gateway.policies import PolicyError
from gateway.policies.concurrency_limit import FixedLimit, LimitedLine
from gateway.policies.interface import PAGES, Drop, Page, Request, Verdicts
from gateway.policies.sheet import Parameter, Sheet

LOWEST = 100
"""The score of the lowest priority; the highest priority has the score 1."""


class PrioritisedRejection(LimitedLine):
    """A policy that admits a request if its score is at most the level; the level falls with the
    cube of the overload.
    """

    def __init__(
        self, *, throttle_from: int, overloaded_at: int, priority: Mapping[Page, float]
    ) -> None:
        if throttle_from >= overloaded_at:
            raise PolicyError(
                "parameters.throttle_from",
                f"{throttle_from} must be below overloaded_at, which is {overloaded_at}",
                f"at most {overloaded_at - 1}",
            )
        super().__init__(PRIORITISED_REJECTION.name, FixedLimit())
        self._throttle_from = throttle_from
        self._overloaded_at = overloaded_at
        self._priority = priority

    @property
    def overload_ratio(self) -> float:
        """The overload: 0 with up to `throttle_from` requests in the system, 1 with `overloaded_at`
        or more, and linear between them.
        """
        beyond = len(self._inside) - self._throttle_from
        return min(1.0, max(0.0, beyond / (self._overloaded_at - self._throttle_from)))

    @property
    def level(self) -> float:
        """The highest score that is admitted: 100 without overload, 0 under complete overload."""
        return LOWEST * (1.0 - self.overload_ratio**3)

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        score, level = self._priority[request.page], self.level
        if score > level:
            return (Drop(request.id, f"priority score {score:g} is above the level {level:.1f}"),)
        return super().arrival(time_s, request)

    def snapshot(self) -> Mapping[str, object]:
        return {
            **super().snapshot(),
            "level": self.level,
            "levels": LOWEST,
            "overload_ratio": self.overload_ratio,
        }


_SOURCE = (
    "Netflix Technology Blog, *Keeping Netflix Reliable Using Prioritized Load Shedding*, "
    "November 2020"
)

PRIORITISED_REJECTION = Sheet(
    name="prioritised-rejection",
    title="Prioritised rejection",
    idea="The fuller the system, the more important a request must be to be admitted.",
    rule="overload = clamp((requests in the system − throttle_from) / (overloaded_at − "
    "throttle_from), 0, 1); level = 100 × (1 − overload³). Turn an arrival away if its priority "
    "score is above the level (1 is the most important score); serve the oldest request",
    source=_SOURCE + ", service throttling",
    deviations="The source calls the curve cubic, with a level in the mid-90s at an overload of "
    "35 %, about 50 at 80 % and about 10 at 95 %. Here, 100 × (1 − overload³) gives 96, 49 and 14. "
    "The source measures overload by concurrent requests and error rates; this policy uses only "
    "concurrent requests. A score depends only on the page; scores rise evenly from the last "
    "page (1) to the first (100). Rejected customers do not learn how often they may retry.",
    parameters=(
        Parameter(
            "throttle_from",
            30,
            "requests",
            "number of requests in the system above which requests may be rejected",
            "this project: all 30 workers busy; the source gives no number",
            0,
            10_000_000,
        ),
        Parameter(
            "overloaded_at",
            100,
            "requests",
            "number of requests in the system at which no request is admitted",
            "this project: LIFO-Pri's capacity of SQ; the source gives no number",
            1,
            10_000_000,
        ),
        Parameter(
            "priority",
            {page: float(round(LOWEST - 99 * i / 7)) for i, page in enumerate(PAGES)},
            "score",
            "score of each page, from 1 (most important) to 100 (least important)",
            "scores from 1 to 100 as in the source; this project chose their order",
            1.0,
            float(LOWEST),
        ),
    ),
)
