"""The values in the frame of every page: the menu of shelves, the number of copies in the cart, and
the customer.
"""

from functools import cache
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from shop import cart
from shop.models import Category


@cache
def category_links() -> SafeString:
    """Return the menu of shelves as list items; they are created once, because all pages have the
    same menu.
    """
    shelves = [(shelf.get_absolute_url(), shelf.name) for shelf in Category.objects.all()]
    if not shelves:
        category_links.cache_clear()
    return format_html_join("", '<li><a href="{}">{}</a></li>', shelves)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the frame's values; each one reads the session or the database only when a template
    uses it.
    """
    return {
        "category_links": SimpleLazyObject(category_links),
        "cart_copies": SimpleLazyObject(lambda: cart.copies(request.session)),
        "customer": getattr(request, "user", None),
    }
