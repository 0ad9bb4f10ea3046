"""Tables and metrics as CSV. `of_table` and `summary` have a row for each number, with its interval
and unit; `by_run` has a row for each run.

`of_table` has only the printed digits. `summary` and `by_run` have all digits and the names of
`lab.analysis.metrics`, and print 100 % as 1.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from lab.analysis.metrics import METRICS
from lab.intervals import estimate
from lab.report.drawing.table import Table, csv_text
from lab.wording import title_of

BYTE_ORDER_MARK: Final = "\ufeff"
"""The first character of every file. Excel needs it to recognise UTF-8, and pandas skips it."""
_N: Final = r"[+-]?(?:\d[\d,]*)?\.?\d+"
_NUMBER: Final = re.compile(rf"({_N})(?: ± ({_N}))?( %)?(?: \*)?", re.ASCII)
_PLACE: Final = re.compile(r"ρ = (\S+(?: \(schedule\))?) (.+)")
_MISSING: Final = ("–", "none", "", "no buyer planned")
_UNITS: Final = {metric.title: metric.unit for metric in METRICS}
_NAMES: Final = {"ρ": "rho", "Policy": "policy", "less": "less"}
_VALUES: Final = ("metric", "value", "low", "high", "unit", "published")


class Number(NamedTuple):
    """A printed number of a table, with the half-width of its 95 % interval, if any."""

    value: Decimal
    half_width: Decimal | None
    is_percent: bool


def number(cell: str) -> Number | None:
    """Return the number of a cell such as `0.83 ± 0.07`; None if the cell has no number."""
    found = _NUMBER.fullmatch(cell)
    if found is None:
        return None
    half = Decimal(found[2].replace(",", "")) if found[2] else None
    return Number(Decimal(found[1].replace(",", "")), half, bool(found[3]))


def file_name(title: str) -> str:
    """Return the file name of a table, for example `who-sells.csv` or `table-4.csv`."""
    short = re.split(r"[:,|]", title)[0]
    return (re.sub(r"[^a-z0-9]+", "-", short.lower()).strip("-")[:60] or "table") + ".csv"


def of_table(table: Table) -> str:
    """Return a table as CSV, with a row for each cell and a column for the published number."""
    ids = _identifiers(table)
    split = [_PLACE.fullmatch(str(head)) for head in table.header[ids:]]
    is_turned = ids == 1 and bool(split) and all(split)
    rows = []
    for row in table.rows:
        known = [str(cell) for cell in row[:ids]]
        for head, place, cell in zip(table.header[ids:], split, row[ids:], strict=False):
            if is_turned and place:
                rows.append((*place.groups(), known[0], *_number(known[0], str(cell), table)))
            else:
                rows.append((*known, str(head), *_number(str(head), str(cell), table)))
    names = [_NAMES.get(str(head), str(head).lower() or "row") for head in table.header[:ids]]
    return _text((*(("rho", "policy") if is_turned else names), *_VALUES), rows)


def summary(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the mean and 95 % interval of every metric over the repetitions as CSV."""
    cells: dict[tuple[Any, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        cells.setdefault((run["rho"], run["policy"]), []).append(run)
    rows: list[Sequence[object]] = []
    for (rho, policy), repetitions in cells.items():
        for metric in METRICS:
            values = [run[metric.name] for run in repetitions if run[metric.name] is not None]
            if not values:
                continue
            found = estimate(values)
            half = found.half_width
            bounds = ("", "") if half is None else (found.mean - half, found.mean + half)
            unit = "ratio" if metric.unit in ("%", "") else metric.unit
            rows.append(
                (rho, title_of(policy), metric.name, found.mean, *bounds, unit, len(values))
            )
    return _text(("rho", "policy", "metric", "value", "low", "high", "unit", "runs"), rows)


def by_run(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the runs as CSV, with a row for each run and a column for each metric."""
    names = [metric.name for metric in METRICS]
    rows = [
        (run["rho"], title_of(run["policy"]), run["seed"], *(run[name] for name in names))
        for run in runs
    ]
    return _text(("rho", "policy", "seed", *names), rows)


def _identifiers(table: Table) -> int:
    """Return the number of leading columns that name a row; the others have numbers."""
    for at, head in enumerate(table.header):
        if at == 0 or head in _NAMES:
            continue
        cells = [str(row[at]) for row in table.rows if at < len(row)]
        if all(_is_value(cell) for cell in cells):
            return at
    return max(1, sum(head in _NAMES for head in table.header))


def _is_value(cell: str) -> bool:
    return all(part in _MISSING or number(part) is not None for part in cell.split(" | "))


def _number(metric: str, cell: str, table: Table) -> tuple[str, ...]:
    published, bar, measured = cell.partition(" | ")
    if not bar:
        published, measured = "", cell
    found = number(measured)
    theirs = published.replace(",", "") if number(published) else ""
    if found is None:
        return ("" if measured in _MISSING else measured, "", "", "", theirs)
    value, half, is_marked = found
    low, high = ("", "") if half is None else (str(value - half), str(value + half))
    is_percent = is_marked or "%" in metric or "%" in table.title or "percent" in table.title
    unit = "%" if is_percent else _UNITS.get(metric, "")
    return (str(value), low, high, unit, theirs)


def _text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return BYTE_ORDER_MARK + csv_text([header, *rows])
