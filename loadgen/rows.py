"""Rows of a run kept in columns, and the Parquet file they become: whole or not at all.

Owns: gathering rows of one schema, writing them once, and refusing files of another schema.
Must not know: what the rows say.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

_METADATA_KEY = b"doorbuster"


class RowsFileError(ValueError):
    """A file that does not hold such rows; the message is one line and names the file."""


class RowLog:
    """The rows of a run, kept in columns until they are written once."""

    schema: ClassVar[pa.Schema]
    order: ClassVar[Sequence[tuple[str, str]]]
    """What a file is sorted by; rows that are equal in it stay as they came."""

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in self.schema.names)

    def __len__(self) -> int:
        return len(self._columns[0])

    def append(self, row: Sequence[Any]) -> None:
        """Adds one row, its values in the order of the schema."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def column(self, name: str) -> Sequence[Any]:
        """All values of one column."""
        found: Sequence[Any] = self._columns[self.schema.names.index(name)]
        return found

    def extend_columns(self, columns: Sequence[Sequence[Any]]) -> None:
        """Adds rows that come as columns in the order of the schema, as `columns_since` gives them.

        Raises `ValueError` when the number of columns or their lengths do not fit.
        """
        if len(columns) != len(self._columns) or len({len(column) for column in columns}) != 1:
            raise ValueError(f"rows come as {len(self._columns)} columns of one length")
        for own, more in zip(self._columns, columns, strict=True):
            own.extend(more)

    def columns_since(self, row: int) -> list[list[Any]]:
        """The rows from `row` on, as columns."""
        return [column[row:] for column in self._columns]

    def table(self, metadata: Mapping[str, object] | None = None) -> pa.Table:
        """The rows as an Arrow table in the order of the file."""
        arrays = [
            pa.array(column, type=field.type)
            for column, field in zip(self._columns, self.schema, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=self.schema).sort_by(self.order)
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


def read_rows(path: Path, schema: pa.Schema) -> pa.Table:
    """The table in a file of `schema`.

    Raises `RowsFileError` when the file is missing, not Parquet, or of another schema.
    """
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise RowsFileError(f"{path}: no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise RowsFileError(f"{path}: not a readable Parquet file ({reason})") from None
    for expected in schema:
        if expected.name not in table.column_names:
            raise RowsFileError(f"{path}: column {expected.name} is missing")
        found = table.schema.field(expected.name).type
        if found != expected.type:
            raise RowsFileError(
                f"{path}: column {expected.name} is {found}, should be {expected.type}"
            )
    surplus = [name for name in table.column_names if name not in schema.names]
    if surplus:
        raise RowsFileError(f"{path}: column {surplus[0]} is not of this schema")
    return table


def metadata_of(table: pa.Table) -> dict[str, Any]:
    """What the writer said about the run."""
    found: dict[str, Any] = json.loads((table.schema.metadata or {}).get(_METADATA_KEY, b"{}"))
    return found


def require_known(path: Path, table: pa.Table, column: str, known: Sequence[str]) -> None:
    """Raises `RowsFileError` when `column` says anything but what is `known`."""
    for value in table.column(column).unique().to_pylist():
        if value not in known:
            raise RowsFileError(
                f"{path}: {column} {value!r} is unknown; {column}s are {', '.join(known)}"
            )


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
