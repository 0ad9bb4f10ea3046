"""How contracts do: delivered against schedule, clicks.

Owns: the arithmetic. Must not know: how reports are shown.
"""

from dataclasses import dataclass
from datetime import datetime

from shop.ads.models import Contract
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
        return self.clicks / self.delivered if self.delivered else None


def progress(contract: Contract, now: datetime) -> Progress:
    """What the servers have reported of it, at most a flush interval ago."""
    delivery = contract.banner.delivery
    return Progress(
        impressions=contract.impressions,
        delivered=delivery.delivered,
        due=due(contract.impressions, contract.starts, contract.ends, now),
        clicks=delivery.clicks,
    )
