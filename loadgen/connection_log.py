"""The connection schema: one row per opening of a connection in a partly-open run.

Owns: the columns and kinds of `connections.parquet`. Must not know: who opens connections, or how.
All times are paper seconds; `opened_s` since the run's start.
"""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from loadgen.rows import RowLog, read_rows, require_known


class ConnectionKind(StrEnum):
    """How the opening of a connection ended, seen by the customer."""

    NEW = "new"  # a full handshake; over plain HTTP every connection
    RESUMED = "resumed"  # the handshake resumed the session of an earlier connection
    REFUSED = "refused"  # turned away: no TCP connection, a TLS alert, closed in the handshake
    FAILED = "failed"  # given up by the customer: a wrong certificate, no TLS there, no files here
    TIMED_OUT = "timed_out"  # patience ended in the handshake


class OpenedConnection(NamedTuple):
    """One row of `connections.parquet`."""

    session: int
    opened_s: float
    """When the customer began to connect."""
    kind: str
    handshake_s: float
    """From then to the end of the handshake, TCP's included, however it ended."""


class ConnectionLog(RowLog):
    """The connections of a run; of one session in the order they were opened."""

    schema = pa.schema(
        [
            pa.field("session", pa.int32(), nullable=False),
            pa.field("opened_s", pa.float64(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("handshake_s", pa.float64(), nullable=False),
        ]
    )
    order = (("session", "ascending"), ("opened_s", "ascending"))


def read_connections(path: Path) -> pa.Table:
    """The table of a `connections.parquet`; raises `RowsFileError` for any other file."""
    table = read_rows(path, ConnectionLog.schema)
    kinds = table.column("kind").unique().to_pylist()
    require_known(path, "kind", kinds, list(ConnectionKind))
    return table


def connections_file(attempts_file: Path) -> Path:
    """Where the connections of a run go: beside its attempts, under a name that says so.

    `connections.parquet` beside `attempts.parquet`, `connections-2.parquet` beside
    `attempts-2.parquet`; any other name gets `connections-` before it.
    """
    name = attempts_file.name
    if "attempts" in name:
        return attempts_file.with_name(name.replace("attempts", "connections", 1))
    return attempts_file.with_name(f"connections-{name}")
