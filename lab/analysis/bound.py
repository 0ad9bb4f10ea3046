"""The capacity bound: the most confirms that a policy can reach on average without knowing which
customers will buy. docs/bound.md has the proof.

The bound is the solution of a linear program. The variable x_p is the number of sessions that are
served at page p, divided by the number of sessions that arrive. The constant w_p is the server time
for page p, divided by the mean server time that a session plans. The constant r is the available
server time, divided by the server time for all planned requests. P(p → q) is the probability that
page q follows page p:

    maximise    x_confirm
    subject to  x_first ≤ 1,  x_q ≤ Σ_p x_p P(p → q),  Σ_p x_p w_p ≤ r,  x ≥ 0

Without the constraint on r, the program is a Markov decision problem. Each corner of this problem
is a set of pages. The pages in the set serve all sessions that come to them, and the other pages
serve none. With the constraint, the optimum is a mixture of at most two corners. As a function of
the server time, the optimum is therefore the upper concave hull of the points (time, confirms) of
all sets of pages. Without the first page, a set serves no session; 2⁷ sets contain the first page.
`Chain.visits` solves the linear system of each set exactly, with fractions.

The r of a run is the server's possible work from the first arrival to the last answer, divided by
the work of all planned requests.

Floats are added with `math.fsum`, because the rounding of `sum` depends on the version of Python,
and browsers can run another version.
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


@dataclass(frozen=True, slots=True)
class Optimum:
    """The optimal use of a run's server time."""

    confirm_ratio: float
    """The share of the planned confirms that the optimum reaches, 0 to 1."""
    flow: Mapping[str, float]
    """The number of sessions served at each page, per session that arrives."""
    turned_away_ratio: Mapping[str, float]
    """For each page, the share (0 to 1) of the sessions that come to it and are turned away; pages
    to which no session comes are omitted."""
    worth_per_time: float
    """The additional confirms, as a share of the planned confirms, per additional unit of `room`
    (the dual value of the constraint on r); 0 if the capacity is sufficient."""


class _Corner(NamedTuple):
    """The use of the server if the pages in a set serve all sessions that come to them, and other
    pages serve none. All numbers are per arriving session; in a hull, `time` and `confirms` are
    divided by those of the whole chain."""

    time: float
    confirms: float
    flow: tuple[float, ...]
    arriving: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class CapacityBound:
    """The capacity bound of a run, from its session model and its server's capacity."""

    model: SessionModel
    capacity_rps: float
    """The requests of the customers' mix that the server can serve per paper second at most."""
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
        return optimum(self.model.chain, able / asked, self.cost_s).confirm_ratio

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
) -> Optimum:
    """Return the solution of the linear program, exact except for rounding. `room` is the available
    server time, divided by the server time for all planned requests. In a lasting overload, `room`
    is 1 / ρ. `execution_s` is the server time of each page, in any unit."""
    hull = _hull_of(chain, execution_s)
    last = hull[-1]
    if last.time <= room:
        return _mixed(last, last, 1.0, 0.0)
    for lower, upper in pairwise(hull):
        if room <= upper.time:
            share = (room - lower.time) / (upper.time - lower.time)
            worth = (upper.confirms - lower.confirms) / (upper.time - lower.time)
            return _mixed(lower, upper, share, worth / last.confirms if last.confirms else 0.0)
    raise AssertionError("the last corner of the hull must be the whole chain")  # pragma: no cover


def _mixed(lower: _Corner, upper: _Corner, share: float, worth: float) -> Optimum:
    def mix(low: float, high: float) -> float:
        return low + share * (high - low)

    flow = tuple(map(mix, lower.flow, upper.flow))
    arriving = tuple(map(mix, lower.arriving, upper.arriving))
    return Optimum(
        confirm_ratio=mix(lower.confirms, upper.confirms),
        flow=dict(zip(PAGES, flow, strict=True)),
        turned_away_ratio={
            page: 1.0 - served / came
            for page, served, came in zip(PAGES, flow, arriving, strict=True)
            if came > 0
        },
        worth_per_time=worth,
    )


def _hull_of(chain: Chain, execution_s: Mapping[str, float]) -> tuple[_Corner, ...]:
    return _hull(
        tuple((page, tuple(chain.row(page).items())) for page in PAGES),
        tuple(execution_s[page] for page in PAGES),
    )


@lru_cache(maxsize=64)
def _hull(
    rows: tuple[tuple[str, tuple[tuple[str, float], ...]], ...], costs: tuple[float, ...]
) -> tuple[_Corner, ...]:
    """Return the corners on the upper concave hull, in increasing order of server time. The first
    corner serves no session; the last has the most confirms."""
    transitions = {page: dict(row) for page, row in rows}
    whole = _corner(transitions, frozenset(PAGES), costs)
    corners = [_corner(transitions, served, costs) for served in _sets()]
    nobody = (0.0,) * len(PAGES)
    points = [_Corner(0.0, 0.0, nobody, tuple(float(page == FIRST_PAGE) for page in PAGES))]
    for corner in corners:
        points.append(
            corner._replace(
                time=corner.time / whole.time,
                confirms=corner.confirms / whole.confirms if whole.confirms else 0.0,
            )
        )
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
    flow = tuple(visits[page] if page in served else 0.0 for page in PAGES)
    rows = [(visits[origin], transitions.get(origin, {})) for origin in served]
    arriving = tuple(
        float(page == FIRST_PAGE) + math.fsum(count * row.get(page, 0.0) for count, row in rows)
        for page in PAGES
    )
    time = math.fsum(count * cost for count, cost in zip(flow, costs, strict=True))
    return _Corner(time, flow[PAGES.index(CONFIRM_PAGE)], flow, arriving)
