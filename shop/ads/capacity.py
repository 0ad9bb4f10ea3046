"""The capacity check, which decides whether enough impressions are free for a new contract.

- The forecast is the expected number of views, over the contract's remaining time, of all slots
  that have the banner's size and share a concept with the banner.
- Another contract holds impressions if its banner can be shown in one of these slots. Its missing
  impressions are spread evenly over its remaining time; the part within the new contract's time
  counts. A contract that renews itself continues at its rate.

The check may refuse a contract that could be fulfilled, because the other contracts count in full,
although their banners may also fit into other slots. It may accept a contract that cannot be
fulfilled, because it uses averages over a contract's time. It also counts a page's views twice if
the page has two slots of the size.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone

_DAY_S = timedelta(days=1).total_seconds()


class Contract(Protocol):
    """The fields of a contract that the check uses; the table is in `shop.ads.models`."""

    pk: Any
    banner: Any
    banner_id: Any
    impressions: int
    starts: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class Capacity:
    """Three numbers of impressions: wanted by a contract, forecast for its banner, and held by
    other contracts.
    """

    wanted: int
    forecast: int
    held: int

    @property
    def left(self) -> int:
        return max(0, self.forecast - self.held)

    def as_numbers(self) -> dict[str, int]:
        return {
            "wanted": self.wanted,
            "forecast": self.forecast,
            "held": self.held,
            "left": self.left,
        }


class NoCapacity(ValidationError):  # noqa: N818
    """The error for a contract that wants more impressions than are free."""

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(
            {
                "impressions": f"{capacity.wanted:,} impressions are wanted, but only "
                f"{capacity.left:,} are free: the slots for this banner are "
                f"expected to show {capacity.forecast:,} in the contract's time, and "
                f"other contracts hold {capacity.held:,} of these."
            }
        )
        self.capacity = capacity


def check(contract: Contract) -> None:
    """Raise NoCapacity if the contract wants more impressions than are free."""
    found = of(contract)
    if found.wanted > found.left:
        raise NoCapacity(found)


def of(contract: Contract) -> Capacity:
    """Return how many impressions the contract wants, and how many are forecast and held."""
    now = timezone.now()
    delivered = 0
    if contract.pk is not None:
        delivered = contract.banner.delivery.delivered
    begins = max(contract.starts, now)
    days = max(0.0, (contract.ends - begins).total_seconds() / _DAY_S)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH slot AS MATERIALIZED (
                SELECT DISTINCT ads_slot.id, ads_page.views_per_day FROM ads_slot
                JOIN ads_page ON ads_page.id = ads_slot.page_id
                JOIN ads_slot_concepts ON ads_slot_concepts.slot_id = ads_slot.id
                JOIN ads_banner_concepts USING (concept_id)
                WHERE banner_id = %(banner)s AND ads_slot.size = %(size)s
            ), concept AS MATERIALIZED (
                SELECT array_agg(DISTINCT concept_id) AS ids
                FROM ads_slot_concepts JOIN slot ON slot.id = slot_id
            ), other AS MATERIALIZED (
                SELECT CASE WHEN ends > %(begins)s THEN
                           greatest(0, impressions - delivered)
                           * extract(epoch FROM least(ends, %(ends)s)
                                                - greatest(starts, %(begins)s))
                           / extract(epoch FROM ends - greatest(starts, %(now)s))
                       ELSE 0 END
                       + CASE WHEN renews AND ends < %(ends)s THEN
                           impressions
                           * extract(epoch FROM %(ends)s - greatest(ends, %(begins)s))
                           / extract(epoch FROM ends - starts)
                       ELSE 0 END AS held
                FROM ads_contract
                JOIN ads_banner ON ads_banner.id = ads_contract.banner_id
                JOIN ads_delivery ON ads_delivery.banner_id = ads_contract.banner_id
                WHERE size = %(size)s AND ads_banner.id <> %(banner)s
                  AND (ends > %(begins)s OR renews) AND starts < %(ends)s
                  AND EXISTS (
                    SELECT FROM ads_banner_concepts
                    WHERE ads_banner_concepts.banner_id = ads_banner.id
                      AND concept_id = ANY((SELECT ids FROM concept)::bigint[])
                  )
            )
            SELECT (SELECT coalesce(sum(views_per_day), 0) FROM slot),
                   (SELECT coalesce(sum(held), 0) FROM other)
            """, {
                "banner": contract.banner_id, "size": contract.banner.size,
                "ends": contract.ends, "begins": begins, "now": now,
            },
        )  # fmt: skip
        views_per_day, held = cursor.fetchone()
    return Capacity(
        wanted=max(0, contract.impressions - delivered),
        forecast=int(float(views_per_day) * days),
        held=round(float(held)),
    )
