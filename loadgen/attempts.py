"""The attempt schema: one row per attempt of a customer to get a page.

Owns: the columns and outcomes of `attempts.parquet`, writing it whole or not at all, and refusing
files that are something else. Load generator and simulator write it, the experiments read it.
Must not know: who makes attempts, or how. All times are paper seconds since the run's start.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


class AttemptOutcome(StrEnum):
    """How an attempt ended, seen by the customer."""

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"  # the customer's patience ended; the connection was closed
    DROPPED = "dropped"  # a queue was full
    REJECTED = "rejected"  # turned away by admission, with an explicit page
    REFUSED = "refused"  # no connection
    FAILED = "failed"  # an error, a wrong page, or a response cut short
    NOT_GENERATED = "not_generated"  # planned by the session, never asked for


class Attempt(NamedTuple):
    """One row of `attempts.parquet`; docs/architecture.md, *Attempts*.

    The times of a `not_generated` row are None; `patience_s` is `inf` for a customer who would
    wait for ever.
    """

    session: int
    step: int
    page: str
    attempt: int
    intended_s: float | None
    started_s: float | None
    finished_s: float | None
    patience_s: float | None
    outcome: str
    status: int = 0
    request_id: str = ""


def not_generated(session: int, step: int, page: str) -> Attempt:
    """The row of a page that was planned and never asked for."""
    return Attempt(
        session, step, page, 0, None, None, None, None, AttemptOutcome.NOT_GENERATED.value
    )


SCHEMA = pa.schema(
    [
        pa.field("session", pa.int32(), nullable=False),
        pa.field("step", pa.int16(), nullable=False),
        pa.field("page", pa.string(), nullable=False),
        pa.field("attempt", pa.int16(), nullable=False),
        pa.field("intended_s", pa.float64()),
        pa.field("started_s", pa.float64()),
        pa.field("finished_s", pa.float64()),
        pa.field("patience_s", pa.float64()),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("status", pa.int16(), nullable=False),
        pa.field("request_id", pa.string(), nullable=False),
    ]
)

_METADATA_KEY = b"doorbuster"
_ORDER = [("session", "ascending"), ("step", "ascending"), ("attempt", "ascending")]


class AttemptsFileError(ValueError):
    """A file that is not an `attempts.parquet`; the message is one line and names the file."""


class AttemptLog:
    """The attempts of a run, kept in columns until they are written once."""

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in Attempt._fields)

    def __len__(self) -> int:
        return len(self._columns[0])

    def append(self, attempt: Attempt) -> None:
        """Adds one row."""
        for column, value in zip(self._columns, attempt, strict=True):
            column.append(value)

    def extend_columns(self, columns: Sequence[Sequence[Any]]) -> None:
        """Adds rows that come as columns in the order of `Attempt`, as `columns_since` gives them.

        Raises `ValueError` when the number of columns or their lengths do not fit.
        """
        if len(columns) != len(self._columns) or len({len(column) for column in columns}) != 1:
            raise ValueError(f"attempts come as {len(self._columns)} columns of one length")
        for own, more in zip(self._columns, columns, strict=True):
            own.extend(more)

    def columns_since(self, row: int) -> list[list[Any]]:
        """The rows from `row` on, as columns."""
        return [column[row:] for column in self._columns]

    def outcomes_between(self, first_s: float, last_s: float) -> Counter[str]:
        """How many attempts ended with each outcome in [first_s, last_s), paper seconds."""
        columns = dict(zip(Attempt._fields, self._columns, strict=True))
        return Counter(
            outcome
            for outcome, finished_s in zip(columns["outcome"], columns["finished_s"], strict=True)
            if finished_s is not None and first_s <= finished_s < last_s
        )

    def table(self, metadata: Mapping[str, object] | None = None) -> pa.Table:
        """The rows as an Arrow table, ordered by session, step and attempt."""
        arrays = [
            pa.array(column, type=field.type)
            for column, field in zip(self._columns, SCHEMA, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=SCHEMA).sort_by(_ORDER)
        text = json.dumps(metadata or {}, allow_nan=False)
        return table.replace_schema_metadata({_METADATA_KEY: text.encode()})

    def write(self, path: Path, metadata: Mapping[str, object] | None = None) -> None:
        """Writes all rows to `path`: the whole file or, on any error, nothing.

        `metadata` is kept in the file as JSON. Raises `OSError` when the place cannot be written.
        """
        table = self.table(metadata)
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
            try:
                pq.write_table(table, part, compression="zstd")
                part.flush()
                os.fsync(part.fileno())
                # NamedTemporaryFile makes private files; a result is as readable as its folder.
                os.fchmod(part.fileno(), 0o666 & ~_umask())
                Path(part.name).replace(path)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise


def read_attempts(path: Path) -> pa.Table:
    """The table of an `attempts.parquet`.

    Raises `AttemptsFileError` when the file is missing, not Parquet, of another schema, or holds
    pages' outcomes that nobody knows.
    """
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise AttemptsFileError(f"{path}: no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise AttemptsFileError(f"{path}: not a readable Parquet file ({reason})") from None
    for expected in SCHEMA:
        if expected.name not in table.column_names:
            raise AttemptsFileError(f"{path}: column {expected.name} is missing")
        found = table.schema.field(expected.name).type
        if found != expected.type:
            raise AttemptsFileError(
                f"{path}: column {expected.name} is {found}, should be {expected.type}"
            )
    surplus = [name for name in table.column_names if name not in SCHEMA.names]
    if surplus:
        raise AttemptsFileError(f"{path}: column {surplus[0]} is not of this schema")
    unknown = _first_unknown(table.column("outcome").unique().to_pylist())
    if unknown is not None:
        known = ", ".join(AttemptOutcome)
        raise AttemptsFileError(f"{path}: outcome {unknown!r} is unknown; outcomes are {known}")
    return table


def read_metadata(path: Path) -> dict[str, Any]:
    """What the writer said about the run. Raises as `read_attempts` does."""
    metadata = read_attempts(path).schema.metadata or {}
    found: dict[str, Any] = json.loads(metadata.get(_METADATA_KEY, b"{}"))
    return found


def _first_unknown(outcomes: Iterable[str]) -> str | None:
    return next((outcome for outcome in outcomes if outcome not in set(AttemptOutcome)), None)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
