"""The file of connections: its columns, its name, and invalid files."""

from pathlib import Path

import pytest

from loadgen.collector import Collector
from loadgen.options import plan_of
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.connection_log import (
    ConnectionKind,
    ConnectionLog,
    OpenedConnection,
    connections_file,
    read_connections,
)
from loadgen.records.rows import RowsFileError, metadata_of

ROWS = [
    OpenedConnection(1, 9.5, ConnectionKind.RESUMED.value, 0.02),
    OpenedConnection(1, 3.0, ConnectionKind.NEW.value, 0.175),
    OpenedConnection(0, 4.0, ConnectionKind.REFUSED.value, 0.01),
]


def _log(rows):
    log = ConnectionLog()
    for row in rows:
        log.append(row)
    return log


def test_what_is_written_is_read_in_the_order_of_sessions(tmp_path):
    path = tmp_path / "connections.parquet"
    _log(ROWS).write(path, {"seed": 3})
    table = read_connections(path)
    found = [OpenedConnection(**row) for row in table.to_pylist()]
    assert found == [ROWS[2], ROWS[1], ROWS[0]]
    assert metadata_of(table) == {"seed": 3}


def test_a_kind_nobody_knows_is_refused(tmp_path):
    path = tmp_path / "connections.parquet"
    _log([OpenedConnection(0, 0.0, "stale", 0.0)]).write(path)
    with pytest.raises(RowsFileError) as refusal:
        read_connections(path)
    assert str(refusal.value) == (
        f"{path}: kind 'stale' is unknown; kinds are new, resumed, refused, failed, timed_out"
    )


@pytest.mark.parametrize(
    ("attempts", "connections"),
    [
        ("attempts.parquet", "connections.parquet"),
        ("attempts-2.parquet", "connections-2.parquet"),
        ("shop.parquet", "connections-shop.parquet"),
    ],
)
def test_connections_lie_beside_the_attempts(attempts, connections):
    assert connections_file(Path("run") / attempts) == Path("run") / connections


def test_files_of_an_earlier_run_do_not_stay(tmp_path):
    """Not even if this run cannot write its own: an old file would pass for one of this run."""
    attempts, connections = tmp_path / "attempts.parquet", tmp_path / "connections.parquet"
    given = {"attempts_file": str(attempts), "sessions": "1", "session_rate": "1"}
    collector = Collector.expecting(plan_of(given), "http://127.0.0.1", ["local"])
    collector.remove_stale()  # there are none, which is no harm
    AttemptLog().write(attempts)
    ConnectionLog().write(connections)
    (tmp_path / "connections-2.parquet").write_bytes(b"of another run")
    collector.remove_stale()
    assert [path.name for path in tmp_path.iterdir()] == ["connections-2.parquet"]
