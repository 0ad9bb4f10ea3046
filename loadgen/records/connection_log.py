"""The log of a partly-open run's connections, with one row for each connection that was opened.

All times are paper seconds; `opened_s` counts from the run's start.
"""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from loadgen.records.rows import RowLog, read_rows, require_known


class ConnectionKind(StrEnum):
    """The result of an attempt to open a connection, as the customer sees it."""

    NEW = "new"  # a full handshake; over plain HTTP every connection
    RESUMED = "resumed"  # the handshake resumed the session of an earlier connection
    REFUSED = "refused"  # turned away: no TCP connection, a TLS alert, closed in the handshake
    FAILED = "failed"  # given up by the customer: a wrong certificate, no TLS there, no files here
    TIMED_OUT = "timed_out"  # patience ended in the handshake


class OpenedConnection(NamedTuple):
    """One row of `connections.parquet`."""

    session: int
    opened_s: float
    """The time at which the customer began to connect."""
    kind: str
    handshake_s: float
    """The time from `opened_s` to the end of the handshakes (TCP and TLS), for every outcome."""


class ConnectionLog(RowLog):
    """The log of a run's connections; a session's connections are in the order of their opening."""

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
    """Return the table of a `connections.parquet`. Raises `RowsFileError` for any other file."""
    table = read_rows(path, ConnectionLog.schema)
    kinds = table.column("kind").unique().to_pylist()
    require_known(path, "kind", kinds, list(ConnectionKind))
    return table


def connections_file(attempts_file: Path) -> Path:
    """Return the path of the connection log, next to the attempt log.

    It is `connections.parquet` for `attempts.parquet` and `connections-2.parquet` for
    `attempts-2.parquet`; any other name gets the prefix `connections-`.
    """
    name = attempts_file.name
    if "attempts" in name:
        return attempts_file.with_name(name.replace("attempts", "connections", 1))
    return attempts_file.with_name(f"connections-{name}")
