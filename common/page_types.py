"""The shop's eight page types, with the chain, Table 2 and the capacity of the LIFO-Pri paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class PageType:
    """A page type; the session ends after it with probability 1 minus the sum of `leads_to`."""

    name: str
    word: str
    path: str
    """The page's path in the shop; words in braces are variables."""
    mean_execution_s: float
    """The service time in Table 2, in paper seconds, including waits."""
    leads_to: Mapping[str, float] = field(default_factory=dict)
    """The next page types and their probabilities (Fig. 1)."""

    @property
    def is_transaction(self) -> bool:
        """Whether the page belongs to a purchase."""
        return self.name.startswith("Tr")


PAGE_TYPES: Final = (
    PageType("Br-1", "home", "/", 0.200, {"Br-2": 0.4, "Br-3": 0.5}),
    PageType("Br-2", "browse", "/browse/{shelf}/", 0.300, {"Br-4": 0.3}),
    PageType("Br-3", "search", "/search/", 0.300, {"Br-4": 0.5}),
    PageType("Br-4", "details", "/books/{book}/", 0.222, {"Tr-1": 0.1}),
    PageType("Tr-1", "login", "/checkout/login/", 0.280, {"Tr-2": 0.9}),
    PageType("Tr-2", "shipping", "/checkout/shipping/", 0.420, {"Tr-3": 0.9}),
    PageType("Tr-3", "payment", "/checkout/payment/", 0.500, {"Tr-4": 0.9}),
    PageType("Tr-4", "confirm", "/checkout/confirm/", 0.300),
)
"""The page types of LIFO-Pri, section 3.2.1, in the order of the chain."""

NAMES: Final = tuple(page.name for page in PAGE_TYPES)

CAPACITY_RPS: Final = 5.6
"""The capacity of LIFO-Pri's shop in requests per paper second, which ρ = 1 uses fully (section
3.2.2).
"""
BUSY_RATIO: Final = 0.714
"""The share of a page's execution time in which the page uses the CPU instead of waiting. With this
value, the capacity of one CPU is CAPACITY_RPS.
"""
SPREAD_RATIO: Final = 0.5
"""Execution times are uniform within ± this share of the mean."""
SLICES: Final = 4
"""The number of pairs of a busy and a waiting period in an execution."""
