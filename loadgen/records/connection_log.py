"""The log of a partly-open run's connections, one row for each attempt to open a connection,
except attempts that the end of the run cut off.

All times are paper seconds; `opened_s` counts from the run's start.
"""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from loadgen.records.rows import RowLog, read_rows, require_known


class ConnectionKind(StrEnum):
    """The result of opening a connection, as the customer sees it."""

    NEW = "new"  # a full handshake, or any connection over plain HTTP
    RESUMED = "resumed"  # resumed the session of an earlier connection
    REFUSED = (
        "refused"  # turned away: no TCP connection, a TLS alert, or closed during the handshake
    )
    # failed at the customer: an invalid certificate, no TLS on the port, too many open files
    FAILED = "failed"
    TIMED_OUT = "timed_out"  # the patience ended during the handshake


class OpenedConnection(NamedTuple):
    session: int
    opened_s: float
    """The time at which the customer began to connect."""
    kind: str
    handshake_s: float
    """The time from `opened_s` to the end of the TCP and TLS handshakes, or to their failure."""


class ConnectionLog(RowLog):
    """The log of a run's connections; each session's connections are in the order of
    their opening.
    """

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
    """Return the table in a `connections.parquet`. Raises `RowsFileError` for any other file."""
    table = read_rows(path, ConnectionLog.schema)
    kinds = table.column("kind").unique().to_pylist()
    require_known(path, "kind", kinds, list(ConnectionKind))
    return table


def connections_file(attempts_file: Path) -> Path:
    """Return the path of the connection log next to the attempt log: `connections-2.parquet` for
    `attempts-2.parquet`, and a name with the prefix `connections-` for any other name.
    """
    name = attempts_file.name
    if "attempts" in name:
        return attempts_file.with_name(name.replace("attempts", "connections", 1))
    return attempts_file.with_name(f"connections-{name}")
