"""The shop's eight page types: their URL names, and the sizes of their banners."""

from common.page_types import PAGE_TYPES

PAGE_TYPE_BY_URL_NAME = {
    f"checkout-{page.word}" if page.is_transaction else page.word: page for page in PAGE_TYPES
}

PUBLISHER = "Doorbuster Bookshop"
"""The shop's name as a publisher of the ad server."""
SIZES = {"desk": "728x90", "phone": "234x60"}
"""The size of the banner for each kind of browser."""
