"""The shop's own eight pages, so that what they show is counted page by page.

Owns: opening them. Must not know: what they are asked for.

Their slots have no concepts: those come with each request, from the page's books. So no contract
counts on them; what they show comes on top of what the other publishers' forecasts promise.
"""

from django.db import transaction

from common.page_types import PAGE_TYPES
from shop.ads.models import Page, Publisher, Slot
from shop.slots import PUBLISHER, SIZES


def open_pages() -> None:
    """Make those that are not there; people's changes to the others stay."""
    with transaction.atomic():
        publisher, _ = Publisher.objects.get_or_create(name=PUBLISHER)
        for page_type in PAGE_TYPES:
            page, made = Page.objects.get_or_create(
                publisher=publisher, name=page_type.name, defaults={"views_per_day": 0}
            )
            if made:
                for device, size in SIZES.items():
                    Slot.objects.create(page=page, name=device, size=size)
