"""Reports on contracts and on publishers' pages: delivered impressions, due impressions, clicks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.db.models.functions import Coalesce

from shop.ads.inventory import due
from shop.ads.models import Contract, Publisher


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one contract at a given time."""

    impressions: int
    delivered: int
    due: int
    clicks: int

    @property
    def pace(self) -> float | None:
        """Delivered impressions / due impressions: less than 1 if the contract is behind its
        schedule; None while no impression is due.
        """
        return self.delivered / self.due if self.due else None

    @property
    def click_rate(self) -> float | None:
        """Clicks per delivered impression; None before the first delivery."""
        return rate(self.clicks, self.delivered)


def rate(clicks: int, impressions: int) -> float | None:
    """Return the number of clicks per impression, or None without an impression."""
    return clicks / impressions if impressions else None


def pages(publisher: Publisher) -> list[dict[str, Any]]:
    """Return the publisher's pages with their counts, ordered by name."""
    found = publisher.pages.annotate(
        impressions=Coalesce("placement__impressions", 0),
        clicks=Coalesce("placement__clicks", 0),
        slot_count=Count("slots"),
    ).order_by("name")
    return [
        {
            "id": page.pk,
            "name": page.name,
            "views_per_day": page.views_per_day,
            "slots": page.slot_count,
            "impressions": page.impressions,
            "clicks": page.clicks,
            "click_rate": rate(page.clicks, page.impressions),
        }
        for page in found
    ]


def progress(contract: Contract, now: datetime) -> Progress:
    """Return a contract's progress. The counts are from the database, so they are usually up to one
    flush interval old.
    """
    delivery = contract.banner.delivery
    return Progress(
        impressions=contract.impressions,
        delivered=delivery.delivered,
        due=due(contract.impressions, contract.starts, contract.ends, now),
        clicks=delivery.clicks,
    )
