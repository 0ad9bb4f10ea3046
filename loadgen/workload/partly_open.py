"""The partly-open model, whose sessions arrive at a rate and stay for a number of interactions.

The parameters and a seed determine the sessions: arrivals, number of interactions, pages, think
times, and numbers of images. The module uses only the standard library. All times are paper
seconds.

Source: Guitart et al., *Dynamic CPU provisioning for self-managed secure web applications in SMP
hosting platforms*, section 4: httperf with the bidding mix of RUBiS. Here, the shop's eight pages
replace RUBiS's 26 interactions. The paper gives neither the transition matrix nor the number of
images, so this project chose them (docs/edragon.md, *Workload*).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import count
from typing import Any

from loadgen.workload.chain import FIRST_PAGE, LIFO_PRI_TRANSITIONS, PAGES
from loadgen.workload.draws import (
    LARGEST_MAX_RETRIES,
    LONGEST_WALK,
    address,
    exponential,
    stream_key,
    uniform,
)
from loadgen.workload.lengths import geometric_scale
from loadgen.workload.load_schedule import Schedule
from loadgen.workload.refusals import (
    SessionModelError,
    require_duration,
    require_positive,
    require_range,
)

IMAGE = "image"
"""The value of `page` in the rows of images."""

MOST_IMAGES = 100
"""The upper limit of the mean number of images per interaction."""

_TRANSACTION_PAGES = tuple(page for page in PAGES if page.startswith("Tr"))
_CHECKOUT_BEGINS = "Br-4"
_BUYING_ALWAYS = Fraction(4, 7)
"""The share of transaction pages if every customer who opens a book buys it."""


@dataclass(frozen=True, slots=True)
class PartlyOpenModel:
    """The parameters of the sessions' behaviour. Durations are paper seconds. The defaults are
    eDragon's (section 4) or, for values that the paper does not give, this project's.

    Raises `SessionModelError`, which names the field, for values out of range.
    """

    interactions_mean: float = 50.0
    """The mean number of interactions of a session, 1 to `interactions_most`. Sessions that the
    limit `interactions_most` ends are included in this mean.
    """
    interactions_most: int = 100
    """The maximum number of interactions of a session, 1 to 4096."""
    think_time_mean_s: float = 7.0
    """The mean of the exponential pause before each interaction except the first."""
    timeout_s: float = 10.0
    """The longest wait for a reply, including the handshake; `inf` means no limit."""
    reconnects: int = 1
    """The maximum number of repetitions of a request after timeouts, each over a new connection."""
    images_mean: float = 1.4
    """The mean number of images fetched after a page.

    Each number is this mean, randomly rounded up or down so that the mean stays the same.
    """
    transactions_ratio: float = 0.15
    """The share of Tr-1 to Tr-4 among the interactions of an endless session, 0 to 4/7.

    RUBiS's bidding mix has 15 % read-write interactions. At 4/7, every customer who opens a book
    buys it.
    """

    def __post_init__(self) -> None:
        most = self.interactions_most
        require_range("interactions_most", most, 1, LONGEST_WALK)
        meaning = "the maximum number of interactions"
        require_range("interactions_mean", self.interactions_mean, 1, most, meaning)
        require_duration("think_time_mean_s", self.think_time_mean_s)
        if self.timeout_s != math.inf:
            require_positive("timeout_s", self.timeout_s)
        require_range("reconnects", self.reconnects, 0, LARGEST_MAX_RETRIES)
        require_range("images_mean", self.images_mean, 0, MOST_IMAGES)
        if not 0 <= self.transactions_ratio <= _BUYING_ALWAYS:
            raise SessionModelError(
                "transactions_ratio",
                f"{self.transactions_ratio} is out of range; give 0 to 4/7 (0.571)",
            )

    def parameters(self) -> dict[str, object]:
        """Return all parameters by name, ready for JSON; an infinite timeout is the text `inf`."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: "inf" if value == math.inf else value for name, value in found.items()}

    @classmethod
    def of_parameters(cls, given: Mapping[str, Any]) -> "PartlyOpenModel":
        """Return the model with these `parameters`; missing parameters have their defaults."""
        return cls(**{**given, "timeout_s": float(given.get("timeout_s", cls().timeout_s))})

    def end_probability(self) -> float:
        """Return p, the probability that a session leaves after an interaction.

        Lengths are geometric and limited to M = `interactions_most`; p solves (1 − (1 − p)^M) / p =
        `interactions_mean`: 0.0160 for 50 of at most 100. If the mean is M, p is 0.
        """
        if self.interactions_mean == self.interactions_most:
            return 0.0
        low, high = 0.0, 1.0
        # The mean falls from M at p = 0 to 1 at p = 1; bisection until no number is left between
        # the bounds.
        while low < (middle := (low + high) / 2) < high:
            if _mean_length(middle, self.interactions_most) > self.interactions_mean:
                low = middle
            else:
                high = middle
        return high

    def transitions(self) -> dict[str, dict[str, Fraction]]:
        """Return the exact transitions from each page; every row adds up to 1, because no session
        exits.

        The chain is LIFO-Pri's, but without exits, and Br-1 follows Tr-4. From Br-4, a share b of
        the sessions continues to Tr-1, and the rest to Br-1. A round has three browsing pages and,
        on average, 4b transaction pages; with t for `transactions_ratio`, t = 4b / (3 + 4b) and b =
        3t / (4 (1 − t)).
        """
        found = {page: _going_on(LIFO_PRI_TRANSITIONS.get(page, {})) for page in PAGES}
        ratio = min(Fraction(str(self.transactions_ratio)), _BUYING_ALWAYS)
        buying = 3 * ratio / (4 * (1 - ratio))
        found[_CHECKOUT_BEGINS] = {_TRANSACTION_PAGES[0]: buying, FIRST_PAGE: 1 - buying}
        return found

    def visits(self) -> dict[str, float]:
        """Return the expected number of interactions per session for each page type, if all
        requests are answered.
        """
        stays = 1 - self.end_probability()
        transitions = self.transitions()
        here = {page: float(page == FIRST_PAGE) for page in PAGES}
        found = dict.fromkeys(PAGES, 0.0)
        for _ in range(self.interactions_most):
            onwards = dict.fromkeys(PAGES, 0.0)
            for page, share in here.items():
                found[page] += share
                for following, probability in transitions[page].items():
                    onwards[following] += share * stays * float(probability)
            here = onwards
        return found

    def replies_mean(self) -> float:
        """Return the expected number of replies (pages and images) per session, if all arrive."""
        return self.interactions_mean * (1 + self.images_mean)


class Partly:
    """The sessions of one seed, which are the same in every run, regardless of the answers.

    Each kind of draw has a separate random stream, addressed by session and interaction. For
    example, session 7 has the same pages, pauses and images under every policy.
    """

    def __init__(self, model: PartlyOpenModel, seed: int) -> None:
        self.model = model
        self._arrival_key = stream_key(seed, "partly-open arrivals")
        self._length_key = stream_key(seed, "partly-open lengths")
        self._page_key = stream_key(seed, "partly-open pages")
        self._think_key = stream_key(seed, "partly-open think times")
        self._image_key = stream_key(seed, "partly-open images")
        end = model.end_probability()
        self._scale = geometric_scale(1 / end) if end else math.inf
        self._onwards = {
            page: [(following, float(share)) for following, share in row.items()]
            for page, row in model.transitions().items()
        }

    def arrivals(self, schedule: Schedule) -> Iterator[float]:
        """Return the times of Poisson arrivals under `schedule` (`Schedule.of_rates`) in order,
        counted from the start.
        """
        unit_gaps = (exponential(uniform(self._arrival_key, i), 1.0) for i in count())
        return schedule.arrivals(unit_gaps, 1.0)

    def length(self, session: int) -> int:
        """Return the number of interactions of session `session` (from 0), if all its requests
        succeed.
        """
        most = self.model.interactions_most
        if math.isinf(self._scale):
            return most
        draw = uniform(self._length_key, address(session, 0, 0))
        return min(int(exponential(draw, self._scale)) + 1, most)

    def pages(self, session: int) -> tuple[str, ...]:
        """Return the page of each interaction of session `session` (from 0), if all its requests
        succeed.
        """
        page = FIRST_PAGE
        found = [page]
        for interaction in range(1, self.length(session)):
            page = self._following(page, session, interaction)
            found.append(page)
        return tuple(found)

    def think_time_s(self, session: int, interaction: int) -> float:
        """Return the pause before an interaction. Interaction 0 is the first and has no pause."""
        mean_s = self.model.think_time_mean_s
        if interaction == 0 or mean_s == 0:
            return 0.0
        return exponential(uniform(self._think_key, address(session, interaction, 0)), mean_s)

    def images(self, session: int, interaction: int) -> int:
        """Return the number of images that the interaction requests after its page."""
        least = math.floor(self.model.images_mean)
        draw = uniform(self._image_key, address(session, interaction, 0))
        return least + (draw < self.model.images_mean - least)

    def _following(self, page: str, session: int, interaction: int) -> str:
        row = self._onwards[page]
        if len(row) == 1:
            return row[0][0]
        draw = uniform(self._page_key, address(session, interaction, 0))
        (first, share), (second, _) = row
        return first if draw < share else second


def _mean_length(end: float, most: int) -> float:
    """Return the mean of a geometric length limited to `most`; `end` must be in (0, 1)."""
    return -math.expm1(most * math.log1p(-end)) / end


def _going_on(row: Mapping[str, float]) -> dict[str, Fraction]:
    """Return the transitions from a page, scaled so that no session ends; the last page leads to
    the first.
    """
    exact = {following: Fraction(str(probability)) for following, probability in row.items()}
    total = sum(exact.values())
    if not total:
        return {FIRST_PAGE: Fraction(1)}
    return {following: probability / total for following, probability in exact.items()}
