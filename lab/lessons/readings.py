"""Read a measured value from the files of a result or from the output of a command.

The column *Read from* of a lab sheet names the place of the value. docs/labs/authors.md lists the
allowed forms.
"""

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.lessons.sheet import number

HELD = "number of claims that hold"
_TABLE = re.compile(
    r"table \*(?P<name>[^*]+)\*, row (?P<row>\*[^*]+\*(?:, \*[^*]+\*)*), "
    r"column \*(?P<column>[^*]+)\*"
)
_SCOREBOARD = re.compile(r"scoreboard, row (?P<row>\*[^*]+\*), column \*(?P<column>[^*]+)\*")
_CLAIM = re.compile(r"claim \*(?P<name>[^*]+)\*")
_PRINTED = re.compile(r"printed after \*(?P<name>[^*]+)\*")


class UnreadableError(Exception):
    """The error for a value that is missing at the place that the sheet names."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place from which a measured value is read."""

    kind: str
    """The kind of place: `table`, `scoreboard`, `claim`, `held` or `printed`."""
    name: str = ""
    """The title of the table, the first words of the claim, or the text before a printed value."""
    row: tuple[str, ...] = ()
    column: str = ""


def place_of(where: str) -> Place:
    """Return the place that a cell of the column *Read from* names.

    Raises ValueError if the cell has none of the allowed forms.
    """
    if where == HELD:
        return Place("held")
    kinds = {"table": _TABLE, "scoreboard": _SCOREBOARD, "claim": _CLAIM, "printed": _PRINTED}
    for kind, form in kinds.items():
        if found := form.fullmatch(where):
            parts = found.groupdict()
            row = tuple(re.findall(r"\*([^*]+)\*", parts.get("row", "")))
            return Place(kind, parts.get("name", ""), row, parts.get("column", ""))
    raise ValueError(f"{where!r} is not a place; docs/labs/authors.md lists the allowed forms")


def read(place: Place, folder: Path | None, printed: str) -> float | str:
    """Return the value at a place; `folder` is the result folder of the step.

    Raises UnreadableError if the place has no such value.
    """
    if place.kind == "printed":
        return _printed(place.name, printed)
    if folder is None:
        raise UnreadableError(f"{place}: the step did not create a result folder")
    if place.kind == "scoreboard":
        return _score(place, folder.parent / "scoreboard" / "scores.json")
    if place.kind == "claim":
        return _claim(place.name, folder)
    if place.kind == "held":
        return float(sum(claim["Holds"] == "yes" for claim in _claims(folder)))
    return _cell(place, *_table(place.name, folder))


def _cell(place: Place, header: Sequence[str], rows: Sequence[Sequence[str]]) -> float:
    if place.column not in header:
        raise UnreadableError(f"column {place.column!r} is missing; columns: {list(header)}")
    found = [one for one in rows if all(label in one for label in place.row)]
    if len(found) != 1:
        there = [list(one[:3]) for one in rows]
        raise UnreadableError(f"{len(found)} rows {place.row!r} among {there}")
    text = found[0][list(header).index(place.column)]
    try:
        return number(text)
    except ValueError:
        raise UnreadableError(f"{place}: {text!r} is not a number") from None


def _table(title: str, folder: Path) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    tables = folder / "tables.json"
    if tables.is_file():
        found = json.loads(tables.read_text(encoding="utf-8"))
        for table in found:
            if table["title"].split(":")[0] == title:
                return table["header"], table["rows"]
        titles = [table["title"] for table in found]
        raise UnreadableError(f"table {title!r} is missing; tables: {titles}")
    path = folder / "tables" / f"{title}.csv"
    if not path.is_file():
        names = sorted(one.stem for one in path.parent.glob("*.csv"))
        raise UnreadableError(f"table {title!r} is missing; tables: {names}")
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, rows


def _claims(folder: Path) -> list[dict[str, str]]:
    path = folder / "claims.json"
    if not path.is_file():
        raise UnreadableError(f"{folder.name} has no claims")
    return list(json.loads(path.read_text(encoding="utf-8")))


def _claim(words: str, folder: Path) -> str:
    found = [one["Holds"] for one in _claims(folder) if one["Claim"].startswith(words)]
    if len(found) != 1:
        raise UnreadableError(f"{len(found)} claims {words!r}")
    return str(found[0])


def _score(place: Place, path: Path) -> float:
    if not path.is_file():
        raise UnreadableError(f"{path} is missing; first run the command of the step")
    title, load = place.row[0], place.column.removeprefix("ρ = ")
    rows = {row["title"]: row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}
    if title not in rows or load not in rows[title]["estimated"]:
        raise UnreadableError(f"{title} has no score at load {load}; policies: {sorted(rows)}")
    return float(rows[title]["estimated"][load]["mean"])


def _printed(words: str, printed: str) -> float:
    found = re.findall(re.escape(words) + r"\s*([−-]?[\d,]+(?:\.\d+)?)", printed)
    if not found:
        raise UnreadableError(f"nothing printed after {words!r}:\n{printed[-2000:]}")
    return number(found[-1])
