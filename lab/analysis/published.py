"""Read the papers' published numbers from `published.toml`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

GROUPS = ("Browsing", "Tr-1", "Tr-2", "Tr-3", "Tr-4")
"""The columns of LIFO-Pri's Table 4; `Browsing` is Br-1 to Br-4 together."""

PUBLISHED_SESSIONS = 24_000
"""The number of sessions in Table 4: a file of 1,000 sessions, used 24 times (section 3.2.1)."""

PAPERS = {
    "lifo-pri": "LIFO-Pri (Singhmar et al., 2004)",
    "sbac": "SBAC (Cherkasova & Phaal, 2002)",
    "connection-sentry": "Connection Sentry (Kraemer et al., 2000)",
    "ad-server": "Ad server (Diniz et al., 2000)",
    "edragon": "eDragon (Guitart et al., 2008)",
}
"""The short titles of the five papers, by the names that `doorbuster reproduce` accepts."""

Row = tuple[int | None, ...]


@cache
def published() -> dict[str, Any]:
    """Return the whole content of `published.toml` as a mapping."""
    return tomllib.loads((Path(__file__).parent / "published.toml").read_text(encoding="utf-8"))


def table4(rho: float | None, policy: str) -> dict[str, Row]:
    """Return the rows generated, completed, timed_out and dropped of Table 4, with a number for
    each column of GROUPS.

    A number is None if the paper does not have it. For SQ, the paper has only totals for two rows;
    they are in the first column. The mapping is empty if Table 4 lacks the ρ or the policy.
    """
    tables = published()["lifo_pri"]["table4"]
    rows = tables["rho_1_40"].get(policy.replace("-", "_"))
    if rows is None or rho not in (0.85, 1.4):
        return {}
    if rho == 0.85:
        whole = {row: tuple(numbers) for row, numbers in tables["rho_0_85"].items()}
        none = (0,) * len(GROUPS)
        return {"generated": whole["generated"], "completed": whole["completed"],
                "timed_out": none, "dropped": none}  # fmt: skip
    blank = (None,) * (len(GROUPS) - 1)
    return {
        "generated": tuple(rows.get("generated", ())) or (rows["generated_total"], *blank),
        "completed": tuple(rows["completed"]),
        "timed_out": tuple(rows["timed_out"]),
        "dropped": tuple(rows.get("dropped", ())) or (rows["dropped_total"], *blank),
    }


def table5(rho: float | None, policy: str) -> dict[str, float]:
    """Return the percentages of Table 5 by row; empty if Table 5 lacks the ρ or the policy."""
    rows = ("completed", "timed_out", "dropped", "not_generated")
    key = policy.replace("-", "_")
    percent = published()["lifo_pri"]["table5"]["rho_1_40"]
    if key not in percent["completed"]:
        return {}
    if rho == 0.85:
        return dict(zip(rows, (100.0, 0.0, 0.0, 0.0), strict=True))
    return {row: percent[row][key] for row in rows} if rho == 1.4 else {}
