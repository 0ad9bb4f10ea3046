"""Where a band's figure stands: in a result's tables, its claims, or in what a command printed.

Owns: the notation of the column *Read from*. Must not know: sheets, how commands are run.

    Who sells > 1.4 & SQ > Efficiency      a table's title, the cells that name the row, the column
    table-1 > 1.15 & 20 s & Completed > Always-LIFO   likewise of a reproduction's table-1.csv
    Claims > it starts with these words         of claims.json: yes, no, or not decided
    Claims > held                               how many hold
    Scoreboard > quiet_door > 1.4               the class's scoreboard: a policy, a load
    Printed > words before the number           of the command's output
"""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

from tests.labs.sheets import number


class UnreadableError(Exception):
    """A figure that is not where the sheet says."""


def read(where: str, folder: Path | None, printed: str) -> float | str:
    """The figure; `folder` is the step's result. Raises UnreadableError: what there is instead."""
    place, *rest = [part.strip() for part in where.split(" > ")]
    if place == "Printed":
        return _printed(rest[0], printed)
    if folder is None:
        raise UnreadableError(f"{where}: the step made no result folder")
    if place == "Scoreboard":
        return _score(rest[0], rest[1], folder.parent / "scoreboard" / "scores.json")
    if place == "Claims":
        return _claim(rest[0], folder)
    if len(rest) != 2:
        raise UnreadableError(f"{where}: neither printed, a claim, nor table > row > column")
    return cell(*_table(place, folder), rest[0], rest[1])


def cell(header: Sequence[str], rows: Sequence[Sequence[str]], row: str, column: str) -> float:
    """The number where a row and a column meet; raises UnreadableError."""
    if column not in header:
        raise UnreadableError(f"no column {column!r} among {list(header)}")
    labels = [label.strip() for label in row.split(" & ")]
    found = [one for one in rows if all(label in one for label in labels)]
    if len(found) != 1:
        raise UnreadableError(f"{len(found)} rows {row!r} among {[list(one[:3]) for one in rows]}")
    text = found[0][list(header).index(column)]
    try:
        return number(text)
    except ValueError:
        raise UnreadableError(f"{row} > {column}: {text!r} is no number") from None


def _table(title: str, folder: Path) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    tables = folder / "tables.json"
    if tables.is_file():
        found = json.loads(tables.read_text(encoding="utf-8"))
        for table in found:
            if table["title"].split(":")[0] == title:
                return table["header"], table["rows"]
        raise UnreadableError(f"no table {title!r} among {[table['title'] for table in found]}")
    path = folder / "tables" / f"{title}.csv"
    if not path.is_file():
        names = sorted(one.stem for one in path.parent.glob("*.csv"))
        raise UnreadableError(f"no table {title!r} among {names}")
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, rows


def _claim(words: str, folder: Path) -> float | str:
    path = folder / "claims.json"
    if not path.is_file():
        raise UnreadableError(f"{folder.name} has no claims")
    claims = json.loads(path.read_text(encoding="utf-8"))
    if words == "held":
        return float(sum(claim["Holds"] == "yes" for claim in claims))
    found = [claim["Holds"] for claim in claims if claim["Claim"].startswith(words)]
    if len(found) != 1:
        raise UnreadableError(f"{len(found)} claims {words!r}")
    return str(found[0])


def _score(title: str, load: str, path: Path) -> float:
    if not path.is_file():
        raise UnreadableError(f"{path}: nobody has played")
    rows = {row["title"]: row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}
    if title not in rows or load not in rows[title]["estimated"]:
        raise UnreadableError(f"no {title} at {load} among {sorted(rows)}")
    return float(rows[title]["estimated"][load]["mean"])


def _printed(words: str, printed: str) -> float:
    found = re.findall(re.escape(words) + r"\s*([−-]?[\d,]+(?:\.\d+)?)", printed)
    if not found:
        raise UnreadableError(f"nothing printed after {words!r}:\n{printed[-2000:]}")
    return number(found[-1])
