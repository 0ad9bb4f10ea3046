"""The shop's eight page types: the names of their addresses, and their slots for banners."""

from common.page_types import PAGE_TYPES

PAGE_TYPE_BY_URL_NAME = {
    f"checkout-{page.word}" if page.is_transaction else page.word: page for page in PAGE_TYPES
}

PUBLISHER = "Doorbuster Bookshop"
"""The name of the shop as a publisher of the ad server."""
SIZES = {"desk": "728x90", "phone": "234x60"}
"""The slot for each kind of browser; a page shows one of the two."""
