"""The eight page types and which view serves each.

Owns: the registry of LIFO-Pri's page types (section 3.2.1) and their published execution times.
Must not know: how a page is made or what work it does.
"""

from typing import NamedTuple


class PageType(NamedTuple):
    """One of the eight; `mean_execution_s` is Table 2 in paper seconds, waits included."""

    name: str
    url_name: str
    mean_execution_s: float


PAGE_TYPES: tuple[PageType, ...] = (
    PageType("Br-1", "home", 0.200),
    PageType("Br-2", "browse", 0.300),
    PageType("Br-3", "search", 0.300),
    PageType("Br-4", "details", 0.222),
    PageType("Tr-1", "checkout-login", 0.280),
    PageType("Tr-2", "checkout-shipping", 0.420),
    PageType("Tr-3", "checkout-payment", 0.500),
    PageType("Tr-4", "checkout-confirm", 0.300),
)
PAGE_TYPE_BY_URL_NAME = {page.url_name: page for page in PAGE_TYPES}
