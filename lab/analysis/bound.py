"""The capacity bound: the most confirms that a policy can reach on average without knowing which
customers will buy. docs/bound.md has the linear program, its proof and its source.

Without the limit on the server's time, each corner of the program is a set of pages: the server
serves every session that comes to a page in the set, and no session that comes to another page.
With the limit, the optimum is a mixture of at most two corners. It is a point on the upper concave
hull of the points (time, confirms) of the 2⁷ sets that contain the first page. `Chain.visits`
solves the linear system of each set exactly. `math.fsum` makes sums independent of the version of
Python, also in browsers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any, NamedTuple, final

from loadgen.workload.sessions import (
    CONFIRM_PAGE,
    FIRST_PAGE,
    MEAN_EXECUTION_S,
    PAGES,
    Chain,
    SessionModel,
)


class _Corner(NamedTuple):
    """The server time and the confirms per arriving session if the server serves exactly the
    sessions that come to a page in a set. In a hull, each number is divided by the number for the
    set of all pages."""

    time: float
    confirms: float


@final
@dataclass(frozen=True, slots=True)
class CapacityBound:
    """The capacity bound of a run, from its session model and its server's capacity."""

    model: SessionModel
    capacity_rps: float
    """The maximum number of requests of the customers' mix that the server can serve per paper
    second."""
    cost_s: Mapping[str, float]
    """The expected server time of each page, in any unit; `capacity_rps` assumes these times."""
    slower_ratio: float = 1.0
    """The actual server time of the pages, divided by the expected server time."""

    def reachable_ratio(self, planned: Mapping[str, int], working_s: float) -> float:
        """Return the share of the planned confirms that can be reached, 0 to 1.

        `planned` is the number of requests by page if every session completed. `working_s` is the
        number of paper seconds in which the server could work on these requests. In a session model
        with lengths, no customer buys; the result is then the share of the work that the server can
        do.
        """
        cost_s = math.fsum(planned[page] * self.cost_s[page] for page in PAGES)
        asked = cost_s * self.slower_ratio
        able = self.capacity_rps * self.model.mean_execution_s(self.cost_s) * working_s
        if able >= asked:
            return 1.0
        if self.model.lengths is not None:
            return able / asked
        return optimum(self.model.chain, able / asked, self.cost_s)

    def as_json(self) -> dict[str, Any]:
        """Return the bound as numbers, for programs that do not have this module.

        Each pair of a `room` and a `confirm_ratio` is a corner of the curve of `reachable_ratio`.
        Straight lines connect the corners; beyond the last corner, the ratio is 1. The room is
        `work_per_s` times the working time, divided by `slower_ratio` times the sum of `cost_s` of
        all planned requests.
        """
        corners = [(0.0, 0.0), (1.0, 1.0)]
        if self.model.lengths is None:
            hull = _hull_of(self.model.chain, self.cost_s)
            corners = [(corner.time, corner.confirms) for corner in hull]
        return {
            "room": [room for room, _ in corners],
            "confirm_ratio": [confirms for _, confirms in corners],
            "work_per_s": self.capacity_rps * self.model.mean_execution_s(self.cost_s),
            "cost_s": {page: self.cost_s[page] for page in PAGES},
            "slower_ratio": self.slower_ratio,
        }


def optimum(
    chain: Chain, room: float, execution_s: Mapping[str, float] = MEAN_EXECUTION_S
) -> float:
    """Return the largest share of the planned confirms (0 to 1), exact except for rounding. `room`
    is the available server time, divided by the time for all planned requests (in a lasting
    overload, 1 / ρ). `execution_s` is the server time of each page, in any unit."""
    hull = _hull_of(chain, execution_s)
    if room >= hull[-1].time:
        return hull[-1].confirms
    lower, upper = next(pair for pair in pairwise(hull) if room <= pair[1].time)
    share = (room - lower.time) / (upper.time - lower.time)
    return lower.confirms + share * (upper.confirms - lower.confirms)


def _hull_of(chain: Chain, execution_s: Mapping[str, float]) -> tuple[_Corner, ...]:
    return _hull(
        tuple((page, tuple(chain.row(page).items())) for page in PAGES),
        tuple(execution_s[page] for page in PAGES),
    )


@lru_cache(maxsize=64)
def _hull(
    rows: tuple[tuple[str, tuple[tuple[str, float], ...]], ...], costs: tuple[float, ...]
) -> tuple[_Corner, ...]:
    """Return the corners on the upper concave hull, in increasing order of server time. At the
    first corner, the server serves no session; at the last corner, there are the most confirms."""
    transitions = {page: dict(row) for page, row in rows}
    whole = _corner(transitions, frozenset(PAGES), costs)
    points = [_Corner(0.0, 0.0)]
    for corner in (_corner(transitions, served, costs) for served in _sets()):
        confirms = corner.confirms / whole.confirms if whole.confirms else 0.0
        points.append(_Corner(corner.time / whole.time, confirms))
    points.sort(key=lambda corner: (corner.time, -corner.confirms))
    hull: list[_Corner] = []
    for point in points:
        if hull and point.confirms <= hull[-1].confirms + _NOTHING:
            continue  # more server time, but not more confirms
        while len(hull) > 1 and _is_below(hull[-1], hull[-2], point):
            hull.pop()
        hull.append(point)
    return tuple(hull)


_NOTHING = 1e-12
"""The tolerance for rounding errors in numbers near 1."""


def _is_below(middle: _Corner, left: _Corner, right: _Corner) -> bool:
    rise = (middle.confirms - left.confirms) * (right.time - left.time)
    return rise <= (right.confirms - left.confirms) * (middle.time - left.time) + _NOTHING


def _sets() -> list[frozenset[str]]:
    others = [page for page in PAGES if page != FIRST_PAGE]
    return [
        frozenset((FIRST_PAGE, *chosen))
        for size in range(len(others) + 1)
        for chosen in combinations(others, size)
    ]


def _corner(
    transitions: Mapping[str, Mapping[str, float]],
    served: frozenset[str],
    costs: tuple[float, ...],
) -> _Corner:
    kept = {
        page: {following: p for following, p in row.items() if following in served}
        for page, row in transitions.items()
        if page in served
    }
    visits = Chain(kept).visits()
    flow = [visits[page] if page in served else 0.0 for page in PAGES]
    time = math.fsum(count * cost for count, cost in zip(flow, costs, strict=True))
    return _Corner(time, flow[PAGES.index(CONFIRM_PAGE)])
