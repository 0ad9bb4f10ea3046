"""How contracts and publishers' pages do: delivered against schedule, placed, clicked.

Owns: the arithmetic. Must not know: how reports are shown.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet
from django.db.models.functions import Coalesce

from shop.ads.models import Contract, Page, Publisher
from shop.ads.schedule import due


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one contract at one time."""

    impressions: int
    delivered: int
    due: int
    clicks: int

    @property
    def pace(self) -> float | None:
        """1 on schedule, less when late; None before anything is due."""
        return self.delivered / self.due if self.due else None

    @property
    def click_rate(self) -> float | None:
        """Clicks per delivered impression; None before the first."""
        return rate(self.clicks, self.delivered)


def rate(clicks: int, impressions: int) -> float | None:
    """Clicks per impression; None before the first."""
    return clicks / impressions if impressions else None


def pages(publisher: Publisher) -> QuerySet[Page]:
    """The publisher's, each with `impressions` and `clicks` reported and `slot_count`."""
    return publisher.pages.annotate(
        impressions=Coalesce("placement__impressions", 0),
        clicks=Coalesce("placement__clicks", 0),
        slot_count=Count("slots"),
    ).order_by("name")


def progress(contract: Contract, now: datetime) -> Progress:
    """What the servers have reported of it, at most a flush interval ago."""
    delivery = contract.banner.delivery
    return Progress(
        impressions=contract.impressions,
        delivered=delivery.delivered,
        due=due(contract.impressions, contract.starts, contract.ends, now),
        clicks=delivery.clicks,
    )
