"""The shop's eight pages as a publisher's pages, so that impressions are counted for each."""

from django.db import transaction

from common.page_types import PAGE_TYPES
from shop.ads.models import Page, Publisher, Slot
from shop.page_types import PUBLISHER, SIZES


def open_pages() -> None:
    """Create the missing pages; people may have edited the others."""
    with transaction.atomic():
        publisher, _ = Publisher.objects.get_or_create(name=PUBLISHER)
        for page_type in PAGE_TYPES:
            page, made = Page.objects.get_or_create(
                publisher=publisher, name=page_type.name, defaults={"views_per_day": 0}
            )
            if made:
                for device, size in SIZES.items():
                    Slot.objects.create(page=page, name=device, size=size)
