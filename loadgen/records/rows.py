"""The rows of a run, kept in columns and written to a Parquet file."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_METADATA_KEY = b"doorbuster"


class RowsFileError(ValueError):
    """The error for a file without valid rows; the message is one line and names the file."""


class RowLog:
    """The rows of a run, kept in columns until they are written to a file."""

    schema: ClassVar[pa.Schema]
    order: ClassVar[Sequence[tuple[str, str]]]
    """The columns by which a file is sorted; rows with equal values keep their order."""

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in self.schema.names)

    def __len__(self) -> int:
        return len(self._columns[0])

    def append(self, row: Sequence[Any]) -> None:
        """Add a row, with its values in the order of the schema."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def column(self, name: str) -> Sequence[Any]:
        found: Sequence[Any] = self._columns[self.schema.names.index(name)]
        return found

    def extend_columns(self, columns: Sequence[Sequence[Any]]) -> None:
        """Add rows as columns, as `columns_since` returns them. Raises `ValueError` for a wrong
        number of columns or different lengths.
        """
        if len(columns) != len(self._columns) or len({len(column) for column in columns}) != 1:
            raise ValueError(f"rows must be {len(self._columns)} columns of equal length")
        for own, more in zip(self._columns, columns, strict=True):
            own.extend(more)

    def columns_since(self, row: int) -> list[list[Any]]:
        """Return, as columns, the rows from number `row` on."""
        return [column[row:] for column in self._columns]

    def table(self, metadata: Mapping[str, object] | None = None) -> pa.Table:
        """Return the rows as an Arrow table in the order of the file."""
        arrays = [
            pa.array(column, type=field.type)
            for column, field in zip(self._columns, self.schema, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=self.schema).sort_by(self.order)
        text = json.dumps(metadata or {}, allow_nan=False)
        return table.replace_schema_metadata({_METADATA_KEY: text.encode()})

    def write(self, path: Path, metadata: Mapping[str, object] | None = None) -> None:
        """Write all rows to the file `path`. If this fails, an existing file stays unchanged.

        The file also contains `metadata` as JSON. Raises OSError if the file cannot be written.
        """
        table = self.table(metadata)
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
            try:
                pq.write_table(table, part, compression="zstd")
                part.flush()
                os.fsync(part.fileno())
                # NamedTemporaryFile creates private files, but result files have the usual
                # permissions.
                os.fchmod(part.fileno(), 0o666 & ~_umask())
                Path(part.name).replace(path)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise


MOST_TEXT = 1000
"""The maximum length of a text in a table, in bytes.

A file of a few bytes could otherwise describe a table with a long text in every row.
"""


class Size(NamedTuple):
    """The size of a Parquet file's table."""

    rows: int
    size_bytes: int
    """The number of bytes before compression, in the file's encoding."""


def size_of(path: Path) -> Size:
    """Return the size of a Parquet file's table. Only the end of the file is read.

    Raises `RowsFileError` if the file cannot be read as Parquet.
    """
    with _faults(path), pq.ParquetFile(path) as file:
        found = file.metadata
        groups = [found.row_group(i) for i in range(found.num_row_groups)]
        return Size(found.num_rows, sum(group.total_byte_size for group in groups))


def check_rows(path: Path, most_rows: int) -> int:
    """Check a Parquet file piece by piece, and return its number of rows.

    Raises `RowsFileError` if the file is damaged, has texts over MOST_TEXT bytes, or has more rows
    than `most_rows`.
    """
    rows = 0
    for piece in pieces(path):
        rows += piece.num_rows
        if rows > most_rows:
            raise RowsFileError(f"{path}: it has more than {most_rows:,} rows")
    return rows


def pieces(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield a table, or only its named columns, in pieces of a few thousand rows.

    Raises `RowsFileError` if the file is damaged or has texts over MOST_TEXT bytes.
    """
    with _faults(path), pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=16_384, columns=columns, use_threads=False):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                _require_short(path, name, column)
            yield batch


def read_table(path: Path) -> pa.Table:
    """Return the table in a Parquet file.

    Raises `RowsFileError` if the file is missing, not Parquet, or has texts over MOST_TEXT bytes.
    """
    with _faults(path):
        with pq.ParquetFile(path) as file:
            texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
        # In a dictionary, each text is in memory only once.
        table = pq.read_table(path, read_dictionary=texts)
        for name in texts:
            column = table.column(name)
            for chunk in column.chunks:
                _require_short(path, name, chunk.dictionary)
            place = table.schema.get_field_index(name)
            field = table.schema.field(place).with_type(pa.string())
            table = table.set_column(place, field, column.cast(pa.string()))
    return table


def _require_short(path: Path, name: str, texts: pa.Array) -> None:
    is_text = pa.types.is_string(texts.type) or pa.types.is_binary(texts.type)
    if is_text and (pc.max(pc.binary_length(texts)).as_py() or 0) > MOST_TEXT:
        raise RowsFileError(f"{path}: column {name} has a text of more than {MOST_TEXT:,} bytes")


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise RowsFileError(f"{path}: no such file") from None
    except MemoryError:
        raise RowsFileError(f"{path}: reading it needs more memory than this machine has") from None
    except (pa.ArrowException, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RowsFileError(f"{path}: not a readable Parquet file ({reason})") from None


def read_rows(path: Path, schema: pa.Schema) -> pa.Table:
    """Return the table in a file with this `schema`.

    Raises `RowsFileError` if the file has another schema or `read_table` cannot read it.
    """
    require_schema(path, schema)
    return read_table(path)


def require_schema(path: Path, schema: pa.Schema) -> None:
    """Raise `RowsFileError` if the file's columns differ from `schema`."""
    with _faults(path), pq.ParquetFile(path) as file:
        columns = file.schema_arrow
    for expected in schema:
        if expected.name not in columns.names:
            raise RowsFileError(f"{path}: column {expected.name} is missing")
        found = columns.field(expected.name).type
        if found != expected.type:
            raise RowsFileError(
                f"{path}: column {expected.name} is {found}, but must be {expected.type}"
            )
    surplus = [name for name in columns.names if name not in schema.names]
    if surplus:
        raise RowsFileError(f"{path}: column {surplus[0]} is not part of the schema")


def distinct(path: Path, column: str) -> set[Any]:
    """Return the different values of a column, read piece by piece. Raises the same errors as
    `pieces`.
    """
    found: set[Any] = set()
    for piece in pieces(path, [column]):
        found.update(piece.column(0).unique().to_pylist())
    return found


def metadata_of(table: pa.Table) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((table.schema.metadata or {}).get(_METADATA_KEY, b"{}"))
    return found


def require_known(path: Path, column: str, values: Iterable[Any], known: Sequence[str]) -> None:
    """Raise `RowsFileError` if `column` has values that are not in `known`."""
    for value in values:
        if value not in known:
            raise RowsFileError(
                f"{path}: {column} {value!r:.80} is unknown; {column}s are {', '.join(known)}"
            )


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
