"""Arrivals from a trace, a CSV or Parquet file with the start times of sessions."""

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen.workload.chain import FIRST_PAGE, PAGES

MOST_BYTES = 8 * 2**20
MOST_ROWS = 200_000
MOST_STEPS = 1000
"""The maximum number of steps in a changing load."""
SUFFIXES = (".csv", ".parquet")
_COLUMNS = ("time_s", "page", "session")


class TraceError(ValueError):
    """The error for an invalid trace; the message names the file and the allowed values."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The sessions of a trace: `counts` has the number of sessions in each of several steps of
    equal length.
    """

    duration_s: float
    """The time from the first session's start to the last session's start, plus one mean gap."""
    counts: tuple[int, ...]


def read(path: Path) -> Trace:
    """Return the sessions in a file with the column `time_s`. Raises TraceError if the file is not
    a readable trace.

    If the file has a column `session`, the earliest row of each session is an arrival. With a
    column `page` but no column `session`, every row with the page Br-1 is an arrival. Without both
    columns, every row is an arrival. Times are seconds, counted from the same moment in all rows.
    The rows may be in any order.
    """
    if path.suffix not in SUFFIXES:
        raise TraceError(f"{path}: is not a trace; allowed: a file that ends with .csv or .parquet")
    try:
        if not path.is_file():
            raise TraceError(f"{path}: does not exist; allowed: the path of a CSV or Parquet file")
        size_bytes = path.stat().st_size
        if size_bytes > MOST_BYTES:
            raise TraceError(f"{path}: has {size_bytes:,} bytes; allowed: at most {MOST_BYTES:,}")
        rows = _csv(path) if path.suffix == ".csv" else _parquet(path)
        times_s = sorted(_arrivals(path, rows))
    except (OSError, UnicodeDecodeError) as fault:
        reason = getattr(fault, "strerror", None) or "it is not UTF-8"
        raise TraceError(f"{path}: cannot be read ({reason}); allowed: a readable file") from None
    if len(times_s) < 2 or times_s[0] == times_s[-1]:
        raise TraceError(
            f"{path}: column time_s: must have sessions that begin at two or more different times"
        )
    return counted(times_s)


def counted(times_s: list[float]) -> Trace:
    """Return the trace of sessions that begin at these times, which must be sorted."""
    first_s, n = times_s[0], len(times_s)
    duration_s = (times_s[-1] - first_s) * n / (n - 1)
    steps = max(1, min(MOST_STEPS, math.floor(duration_s)))
    counts = [0] * steps
    for time_s in times_s:
        counts[min(steps - 1, int((time_s - first_s) / duration_s * steps))] += 1
    return Trace(duration_s, tuple(counts))


def _arrivals(path: Path, rows: Iterator[tuple[int, Mapping[str, Any]]]) -> list[float]:
    first_of_session: dict[str, float] = {}
    times_s: list[float] = []
    for line, row in rows:
        time_s, page, session = (row.get(name) for name in _COLUMNS)
        at_s = _number(time_s)
        if at_s is None:
            raise TraceError(
                f"{path}: line {line}: column time_s: must be a number; "
                "allowed: seconds, from -1e12 to 1e12"
            )
        if page is not None and page not in PAGES:
            raise TraceError(
                f"{path}: line {line}: column page: is unknown; allowed: {', '.join(PAGES)}"
            )
        if "session" in row:
            if session in (None, ""):
                raise TraceError(
                    f"{path}: line {line}: column session: is empty; allowed: any name or number"
                )
            key = str(session)
            first_of_session[key] = min(at_s, first_of_session.get(key, math.inf))
        elif page is None or page == FIRST_PAGE:
            times_s.append(at_s)
    return times_s or list(first_of_session.values())


def _number(text: Any) -> float | None:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return number if abs(number) <= 1e12 else None  # also false for nan


def _require_columns(path: Path, names: list[str], line: str = "") -> None:
    if "time_s" not in names or len(set(names)) < len(names):
        raise TraceError(
            f"{path}: {line}column time_s: is missing, or a name occurs twice; allowed: time_s, "
            f"and perhaps {' or '.join(_COLUMNS[1:])}"
        )


def _require_rows(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise TraceError(
            f"{path}: has more than {MOST_ROWS:,} rows; allowed: at most {MOST_ROWS:,}"
        )


def _csv(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8", newline="") as file:
        # A comment counts as an empty line, so that line numbers match the file.
        lines = csv.reader("\n" if row.startswith("#") else row for row in file)
        try:
            names = [name.strip() for name in next(filter(None, lines), [])]
            _require_columns(path, names, f"line {lines.line_num}: ")
            for number, cells in enumerate(lines, 1):
                _require_rows(path, number)
                if len(cells) not in (0, len(names)):
                    raise TraceError(
                        f"{path}: line {lines.line_num}: has {len(cells)} columns; "
                        f"allowed: {len(names)}, as in the first line"
                    )
                if cells:
                    yield lines.line_num, dict(zip(names, cells, strict=True))
        except csv.Error as fault:
            raise TraceError(
                f"{path}: line {lines.line_num}: is not CSV ({fault}); allowed: values "
                f"separated by commas"
            ) from None


def _parquet(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _require_columns(path, names)
            _require_rows(path, file.metadata.num_rows)
            columns = [name for name in _COLUMNS if name in names]
            line = 0
            for batch in file.iter_batches(columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    line += 1
                    yield line, row
    except pa.ArrowException as fault:
        raise TraceError(f"{path}: is not Parquet ({fault}); allowed: a Parquet file") from None
