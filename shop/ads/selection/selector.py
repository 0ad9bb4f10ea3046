"""The selection of a page's banners: the algorithm in Fig. 4 of the paper (Diniz et al., 2000)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from shop.ads.delivery.ledger import Ledger
from shop.ads.inventory import Rows
from shop.ads.selection import candidates, placing
from shop.ads.selection.fan_out import FanOut
from shop.ads.selection.placing import Weights


@dataclass(frozen=True, slots=True)
class Request:
    """A request for banners for the slots of one page."""

    slots: int
    size: int
    concepts: Sequence[int]
    priority: int = 0
    page: int | None = None  # the publisher's page that counts the impressions


class Placed(NamedTuple):
    """A banner on a page: its id, and its text for screen readers."""

    id: int
    alt: str


def wheel(request: Request, time_s: float, ledger: Ledger, fan_out: FanOut) -> tuple[Rows, Weights]:
    """Return the rows of the request's candidates, in ascending order, and their weights."""
    inventory, delivered = ledger.view
    wanted = candidates.Wanted(request.size, time_s)
    found = fan_out.search(
        request.priority,
        list(dict.fromkeys(request.concepts)),
        lambda concept: candidates.find(inventory, delivered, wanted, concept),
    )
    rows = candidates.common(found, len(inventory))
    weights = inventory.contracted[rows] - delivered[rows].astype(np.int64)
    np.maximum(weights, 0, out=weights)
    return rows, weights


def select(
    request: Request, time_s: float, ledger: Ledger, fan_out: FanOut, rng: random.Random
) -> list[Placed]:
    """Choose at most `request.slots` banners, count their impressions in the ledger, and return the
    banners.

    The candidates are sorted, so that the result does not depend on the number of threads.
    """
    inventory = ledger.view.inventory
    rows, weights = wheel(request, time_s, ledger, fan_out)
    take = partial(ledger.take, page=request.page)
    placed = placing.place(inventory, rows, weights, request.slots, rng, take)
    return [Placed(int(inventory.id[row]), inventory.alt[row]) for row in placed]
