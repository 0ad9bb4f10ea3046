"""The page types by the names of their addresses in `shop.urls`."""

from common.page_types import PAGE_TYPES

PAGE_TYPE_BY_URL_NAME = {
    f"checkout-{page.word}" if page.is_transaction else page.word: page for page in PAGE_TYPES
}
