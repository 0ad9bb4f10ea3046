"""The chi-squared test that shows whether banners are drawn in proportion to their weights."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from common.http_json import JsonClient, NoAnswerError, RefusedError

CRITICAL = {
    1: 3.84, 2: 5.99, 3: 7.81, 4: 9.49, 5: 11.07, 6: 12.59, 7: 14.07, 8: 15.51, 9: 16.92,
}  # fmt: skip
"""The critical values of chi-squared at the 5 % level, by degrees of freedom."""
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Group:
    """A group of candidates, with its expected and its actual number of draws."""

    banners: int
    weight: int
    expected: float
    drawn: int

    @property
    def term(self) -> float:
        return (self.drawn - self.expected) ** 2 / self.expected


def groups_of(
    weights: Mapping[int, int], drawn: Mapping[int, int], groups: int, *, equal: bool = False
) -> list[Group]:
    """Sort the candidates by weight and divide them into groups with about equal expected numbers
    of draws.

    `weights` and `drawn` map banner ids to weights and to numbers of draws; a drawn banner without
    a weight is ignored. With `equal`, the expected number is the same for all banners. If there are
    few banners, there may be fewer groups than requested.
    """
    order = sorted(weights, key=lambda id: (-weights[id], id))
    share = {id: 1 if equal else weights[id] for id in order}
    total, draws = sum(share.values()), sum(drawn.get(id, 0) for id in order)
    cut: list[list[int]] = [[]]
    done = 0
    for id in order:
        if cut[-1] and len(cut) < groups and done >= total * len(cut) / groups:
            cut.append([])
        cut[-1].append(id)
        done += share[id]
    return [
        Group(
            banners=len(ids),
            weight=sum(weights[id] for id in ids),
            expected=draws * sum(share[id] for id in ids) / total,
            drawn=sum(drawn.get(id, 0) for id in ids),
        )
        for ids in cut
    ]


def chi_squared(groups: Sequence[Group]) -> float:
    """Return chi-squared: the sum over all groups of (drawn − expected)² / expected."""
    return sum(group.term for group in groups)


def draw(
    host: str, port: int, size: str, concepts: str, draws: int
) -> tuple[dict[int, int], Counter[int]]:
    """Request the candidates from the running ad server, then draw `draws` times for a page with
    one slot.

    Returns the weight of each candidate and the number of draws of each banner, by banner id.
    Raises ServerError if the ad server does not answer or refuses a call.
    """
    page = {"size": size, "concepts": concepts}
    try:
        with JsonClient(host, port, timeout_s=PATIENCE_S) as server:
            listed = server.call("GET", "/ads/candidates?" + urlencode(page))
            drawn: Counter[int] = Counter()
            for _ in range(draws):
                answer = server.call("GET", "/ads/select?" + urlencode({"slots": 1, **page}))
                drawn.update(banner["id"] for banner in answer["banners"])
    except NoAnswerError as fault:
        raise ServerError(
            f"The ad server at {host}:{port} does not answer ({fault}); `make up` starts it."
        ) from None
    except RefusedError as refused:
        allowed = (refused.answer or {}).get("allowed")
        raise ServerError(f"{refused}; allowed: {allowed}") from None
    return {one["id"]: one["weight"] for one in listed["candidates"]}, drawn


class ServerError(Exception):
    """The error of `draw`; its text explains the fix."""
