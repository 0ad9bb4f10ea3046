"""The picture under the verdict: each policy's share of the possible sales. The picture is made
from the table *Who sells*, so older and imported results also have it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from lab.report import tidy

TABLE: Final = "Who sells"
SHARE: Final = "Estimated"
MOST: Final = 8
"""The maximum number of bars in one picture. The table shows all policies."""
WIDEST: Final = 1.25
"""Intervals are cut off at this share, or at the longest bar if this bar is longer."""


class Bar(NamedTuple):
    """The bar of one policy. Positions and lengths are ratios of the picture's width.

    `words` is the text of the share. The 95 % interval begins at `interval_ratio`. The interval's
    width is 0 for a single run.
    """

    policy: str
    words: str
    length_ratio: float
    interval_ratio: float
    interval_width_ratio: float


class Picture(NamedTuple):
    """The bars at one load, the best policy first, and the position of the capacity bound."""

    rho: str
    bars: Sequence[Bar]
    policies: int
    """The number of policies in the table."""
    bound_ratio: float


class _Share(NamedTuple):
    rho: Decimal
    policy: str
    words: str
    value: float
    half_width: float


def picture(tables: Sequence[Mapping[str, Any]]) -> Picture | None:
    """Return the picture at the highest load; None if there are fewer than two policies."""
    for table in tables:
        header = list(table.get("header", ()))
        if table.get("title") == TABLE and {"ρ", "Policy", SHARE} <= set(header):
            rows = [dict(zip(header, map(str, row), strict=False)) for row in table["rows"]]
            return _picture(_shares(rows))
    return None


def _shares(rows: Sequence[Mapping[str, str]]) -> list[_Share]:
    found = []
    for row in rows:
        rho, share = tidy.number(row["ρ"]), tidy.number(row.get(SHARE, ""))
        if rho and share:
            value, half_width = float(share.value), float(share.half_width or 0)
            found.append(_Share(rho.value, row["Policy"], row[SHARE], value, half_width))
    highest = max((one.rho for one in found), default=None)
    at_highest = [one for one in found if one.rho == highest]
    return sorted(at_highest, key=lambda one: one.value, reverse=True)


def _picture(shares: Sequence[_Share]) -> Picture | None:
    if len(shares) < 2:
        return None
    best = shares[:MOST]
    highest = max(one.value + one.half_width for one in best)
    edge = max(1.0, min(WIDEST, highest), best[0].value)
    bars = []
    for one in best:
        low, high = max(0.0, one.value - one.half_width), min(edge, one.value + one.half_width)
        length = max(0.0, one.value)
        bars.append(Bar(one.policy, one.words, length / edge, low / edge, (high - low) / edge))
    return Picture(f"{shares[0].rho}", bars, len(shares), 1 / edge)
