"""The table of shadows: the decisions that other policies would have made in the same runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.analysis.cells import Cell
from lab.intervals import estimate
from lab.report.drawing.table import Table
from lab.titles import title_of

_VERDICTS = (
    ("agrees, %", "same"),
    ("would have refused, %", "would_refuse"),
    ("would have let in, %", "would_serve"),
    ("would have served earlier, %", "earlier"),
    ("would have served later, %", "later"),
    ("customer would have left, %", "would_lose"),
)
"""The title of each row of a shadow, with the key of the gateway's count."""


def table(cells: Sequence[Cell]) -> Table | None:
    """Return the decisions of each shadow in the runs of each acting policy, in % of the requests
    that the shadow decided; None if the runs had no shadows."""
    names = {one["name"]: None for cell in cells for run in _runs(cell) for one in run}
    if not names:
        return None
    found = Table(
        "Decisions of other policies",
        ("", *(cell.heading for cell in cells)),
        note="These policies saw the events of the acting policy's run, but their decisions had no "
        "effect. Values are means per run, in % of the requests that these policies decided. A "
        "policy does not decide the requests of a session that it has refused before. Under such a "
        "policy, customers would behave differently: run a comparison to see its effect.",
    )
    for name in names:
        for words, verdict in _VERDICTS:
            shares = [_shares(cell, name, verdict) for cell in cells]
            texts = (estimate(one).text(1) if one else "–" for one in shares)
            found.rows.append((f"{title_of(name)}: {words}", *texts))
    return found


def _runs(cell: Cell) -> list[Sequence[Mapping[str, Any]]]:
    return [summary.shadows for summary in cell.summaries if summary.shadows]


def _shares(cell: Cell, name: str, verdict: str) -> list[float]:
    return [
        100 * one["verdicts"][verdict] / one["asked"]
        for run in _runs(cell)
        for one in run
        if one["name"] == name and one.get("asked")
    ]
