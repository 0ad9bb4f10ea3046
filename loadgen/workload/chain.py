"""The Markov chain over the page types, LIFO-Pri's Fig. 1 or another chain.

Source: Singhmar, Mathur, Apte, Manjunath, *A Combined LIFO-Priority Scheme for Overload Control of
E-commerce Web Servers*, section 3.2. The transition probabilities, which the paper does not print,
follow from Tables 3 and 4 (docs/loadgen.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil
from random import Random
from types import MappingProxyType
from typing import Any

from common import page_types
from loadgen.workload.draws import LONGEST_WALK
from loadgen.workload.refusals import SessionModelError

PAGES = page_types.NAMES
"""The page types of section 3.2.1, in the order of the chain."""

LIFO_PRI_TRANSITIONS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {page.name: page.leads_to for page in page_types.PAGE_TYPES if page.leads_to}
)
"""The transition probabilities of Fig. 1. The session ends with probability 1 minus a row's sum."""

MEAN_EXECUTION_S: Mapping[str, float] = MappingProxyType(
    {page.name: page.mean_execution_s for page in page_types.PAGE_TYPES}
)
"""The mean execution times of Table 2, including waits."""

FIRST_PAGE = "Br-1"
CONFIRM_PAGE = "Tr-4"


@dataclass(frozen=True, slots=True)
class Chain:
    """A Markov chain over the page types; a session starts at `Br-1`.

    `transitions[page][following]` is a probability. After `page`, the session ends with probability
    1 minus the row's sum. Raises `SessionModelError` for an unknown page, a probability outside
    [0, 1], a row with a sum above 1, and a page from which no session ever exits.
    """

    transitions: Mapping[str, Mapping[str, float]] = field(
        default_factory=lambda: LIFO_PRI_TRANSITIONS
    )

    def __post_init__(self) -> None:
        for page, row in self.transitions.items():
            _require_page("transitions", page)
            for following, probability in row.items():
                _require_page(f"transitions.{page}", following)
                if not 0 <= probability <= 1:
                    raise SessionModelError(
                        f"transitions.{page}.{following}",
                        f"{probability} is not a probability; give a number from 0 to 1",
                    )
            total = sum(_exact(probability) for probability in row.values())
            if total > 1:
                raise SessionModelError(
                    f"transitions.{page}",
                    f"probabilities add up to {float(total):g}; give at most 1 in total, the "
                    f"rest is the probability of the exit",
                )
        exiting = self._pages_that_exit()
        for page in PAGES:
            if page not in exiting:
                raise SessionModelError(
                    f"transitions.{page}",
                    "no session ever exits from this page; leave a share for the exit",
                )

    def row(self, page: str) -> Mapping[str, float]:
        return self.transitions.get(page, {})

    def visits(self) -> dict[str, float]:
        """Return the expected requests per session for each page type, if all succeed."""
        return dict(_visits(tuple((page, *row.items()) for page, row in self.transitions.items())))

    def probability_of_confirm(self, page: str) -> float:
        """Return the probability that a session now at `page` reaches Tr-4.

        Table 3's utilities are 1000 (browsing) or 5000 (transaction pages) times this probability.
        """
        _require_page("page", page)
        flow = {
            origin: {
                following: _exact(probability)
                for following, probability in self.row(origin).items()
                if origin != CONFIRM_PAGE
            }
            for origin in PAGES
        }
        # `_solve` also solves P(page) = Σ p × P(following), with P(Tr-4) = 1.
        return float(_solve(flow, CONFIRM_PAGE)[page])

    def walk_at(self, place: float) -> tuple[str, ...]:
        """Return the walk at `place` in [0, 1). Each walk has a part of this interval, whose width
        is the walk's probability. With a uniformly random `place`, each walk is therefore returned
        with its own probability.
        """
        page = FIRST_PAGE
        walk = [page]
        while len(walk) < LONGEST_WALK:
            for following, probability in self.row(page).items():
                if place < probability:
                    place = place / probability
                    page = following
                    walk.append(page)
                    break
                place = place - probability
            else:
                break
        return tuple(walk)

    def quota_file(self, sessions: int, rng: Random) -> tuple[tuple[str, ...], ...]:
        """Return `sessions` walks in the chain's proportions, shuffled by `rng`.

        For every possible beginning, the number of walks with this beginning differs from the
        expected number by at most 1. With 1000 sessions, LIFO-Pri's chain gives the counts of Table
        4 divided by 24. Independent draws would match the chain this well with a probability of
        about 2e-5.
        """
        walks = self._evenly_spaced(sessions)
        rng.shuffle(walks)
        return tuple(walks)

    def _evenly_spaced(self, sessions: int) -> list[tuple[str, ...]]:
        """Return the walks at the middles of `sessions` equal parts of [0, 1),
        calculated exactly.
        """
        rows = {
            page: [(following, _exact(p)) for following, p in self.row(page).items()]
            for page in PAGES
        }

        def first_from(bound: Fraction) -> int:
            return ceil(sessions * bound - Fraction(1, 2))

        walks: list[tuple[str, ...]] = [()] * sessions
        # Beginnings of walks: the pages, the range of walk numbers (first, end), and the part of
        # [0, 1).
        whole = (FIRST_PAGE,), 0, sessions, Fraction(0), Fraction(1)
        begun: list[tuple[tuple[str, ...], int, int, Fraction, Fraction]] = [whole]
        while begun:
            walk, first, end, bound, width = begun.pop()
            for following, probability in rows[walk[-1]] if len(walk) < LONGEST_WALK else ():
                part = width * probability
                bound += part
                until = first_from(bound)
                if until > first:
                    begun.append(((*walk, following), first, until, bound - part, part))
                    first = until
            walks[first:end] = [walk] * (end - first)
        return walks

    def _flow_in(self) -> dict[str, dict[str, Fraction]]:
        flow: dict[str, dict[str, Fraction]] = {page: {} for page in PAGES}
        for origin, row in self.transitions.items():
            for following, probability in row.items():
                flow[following][origin] = _exact(probability)
        return flow

    def _pages_that_exit(self) -> set[str]:
        exiting: set[str] = set()
        grew = True
        while grew:
            grew = False
            for page in PAGES:
                if page in exiting:
                    continue
                row = self.row(page)
                leaves = sum(_exact(probability) for probability in row.values()) < 1
                if leaves or any(p > 0 and following in exiting for following, p in row.items()):
                    exiting.add(page)
                    grew = True
        return exiting


@lru_cache(maxsize=256)  # a page of the console asks for the same few chains hundreds of times
def _visits(rows: tuple[tuple[Any, ...], ...]) -> Mapping[str, float]:
    chain = Chain({page: dict(row) for page, *row in rows})
    return {page: float(count) for page, count in _solve(chain._flow_in(), FIRST_PAGE).items()}


def _exact(probability: float) -> Fraction:
    return Fraction(str(probability))


def _solve(inflow: Mapping[str, Mapping[str, Fraction]], source: str) -> dict[str, Fraction]:
    """Solve x[page] = (1 if page is source) + Σ inflow[page][other] × x[other] by elimination."""
    pages = PAGES
    rows = [
        [Fraction(int(page == other)) - inflow[page].get(other, Fraction(0)) for other in pages]
        + [Fraction(int(page == source))]
        for page in pages
    ]
    for i in range(len(pages)):
        pivot = next((r for r in range(i, len(pages)) if rows[r][i] != 0), None)
        if pivot is None:
            raise SessionModelError(
                f"transitions.{pages[i]}", "no session ever exits from this page"
            )
        rows[i], rows[pivot] = rows[pivot], rows[i]
        head = rows[i][i]
        rows[i] = [value / head for value in rows[i]]
        for r in range(len(pages)):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return {page: rows[i][-1] for i, page in enumerate(pages)}


def _require_page(field: str, page: str) -> None:
    if page not in PAGES:
        raise SessionModelError(field, f"unknown page {page!r}; the pages are {', '.join(PAGES)}")
