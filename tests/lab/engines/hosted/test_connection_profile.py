"""The arithmetic of static profiling."""

import pytest

from lab.engines.hosted.connection_profile import SessionCounts, counted, split
from lab.errors import ExperimentError
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt
from loadgen.records.connection_log import ConnectionLog, OpenedConnection, connections_file

COUNTS = SessionCounts(
    sessions=10, new=10, resumed=20, replies_over_new=40, replies_over_resumed=60
)


def test_all_cpu_belongs_to_the_connections():
    found = split(15.0, 0.2, 0.01, COUNTS)
    assert found.reply_s == pytest.approx((15.0 - 2.0 - 0.2) / 100)
    assert COUNTS.new * found.ctn_s + COUNTS.resumed * found.cto_s == pytest.approx(15.0)
    assert found.ctn_s == pytest.approx(0.2 + 4 * found.reply_s)
    assert found.cto_s == pytest.approx(0.01 + 3 * found.reply_s)
    assert found.session_s == pytest.approx(1.5)


def test_handshakes_cannot_cost_more_than_all():
    with pytest.raises(ExperimentError, match="while no other program runs"):
        split(1.9, 0.2, 0.01, COUNTS)


def test_without_a_resumption_there_is_no_cost_of_one():
    none = SessionCounts(sessions=3, new=3, resumed=0, replies_over_new=9, replies_over_resumed=0)
    with pytest.raises(ExperimentError, match="3 new and 0 resumed"):
        split(1.0, 0.1, 0.0, none)


def written(folder, connections, replies, outcome="completed"):
    """A run's files; `connections`: (session, opened_s, kind), `replies`: (session, finished_s)."""
    log = ConnectionLog()
    for session, opened_s, kind in connections:
        log.append(OpenedConnection(session, opened_s, kind, 0.1))
    attempts = AttemptLog()
    for step, (session, finished_s) in enumerate(replies):
        attempts.append(
            Attempt(
                session, step, "Br-1", 1, finished_s - 0.2, finished_s - 0.2, finished_s, 10.0,
                outcome, 200,
            )
        )  # fmt: skip
    file = folder / "attempts.parquet"
    attempts.write(file)
    log.write(connections_file(file))
    return file


def test_replies_are_counted_with_the_connection_they_came_over(tmp_path):
    file = written(
        tmp_path,
        [(0, 1.0, "new"), (0, 20.0, "resumed"), (1, 5.0, "refused"), (2, 6.0, "new")],
        # The first was asked for before its connection was open.
        [(0, 1.1), (0, 2.0), (0, 21.0), (2, 30.0)],
    )
    assert counted(file) == SessionCounts(
        sessions=2, new=2, resumed=1, replies_over_new=3, replies_over_resumed=1
    )


def test_a_run_in_which_customers_were_not_served_is_no_measurement(tmp_path):
    file = written(tmp_path, [(0, 1.0, "new")], [(0, 2.0), (0, 3.0)], outcome="timed_out")
    with pytest.raises(ExperimentError, match="0 of 2 requests were served"):
        counted(file)
