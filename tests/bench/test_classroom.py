"""The counts of a lesson of `make bench-class`."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace

from bench.classroom import attacks, command
from bench.classroom.browser import Answer, Records
from loadgen.records.attempt_log import SCHEMA


def test_no_answer_and_a_refusal_are_errors():
    """A page that did not come, and one that was refused or failed, count as errors."""
    records = Records([Answer("a", 1.0, status, "/") for status in (200, 302, 0, 403, 429, 500)])
    assert [one.status for one in records.errors()] == [0, 403, 429, 500]


def test_longest_wait_of_each_student(tmp_path):
    """A launch waits until it begins; one that was cancelled before, until it ended."""
    (tmp_path / "console").mkdir()
    with closing(sqlite3.connect(tmp_path / "console" / "console.sqlite3")) as database, database:
        database.execute(
            "create table console_launch (by text, asked_at text, began_at text, ended_at text, "
            "state text)"
        )
        at = "2026-11-22 10:{}:00.5"
        rows = [
            ("bob", at.format("00"), at.format("01"), at.format("09"), "done"),
            ("bob", at.format("01"), at.format("04"), at.format("05"), "done"),
            ("eve", at.format("02"), None, at.format("04"), "cancelled"),
            ("anna", at.format("00"), at.format("30"), None, "running"),
            ("eve", "2026-11-22 09:00:00", "2026-11-22 09:50:00", None, "done"),
        ]
        database.executemany("insert into console_launch values (?, ?, ?, ?, ?)", rows)
    lab = SimpleNamespace(state_dir=tmp_path)
    since = datetime(2026, 11, 22, 9, 59, tzinfo=UTC)
    found = command.waits(lab, ["bob", "eve"], since)
    assert found.longest_s == {"bob": 180.0, "eve": 120.0}
    assert found.ended == {"done": 2, "cancelled": 1}


def test_harm_is_a_fault_or_a_call_that_was_let_in():
    """A refusal of an attack is good; a 500, or an inner call that succeeds without a token, is
    not."""
    inner = attacks.INNER_HOST
    answers = [Answer("x", 1.0, 400, "/"), Answer("x", 1.0, 500, "/")]
    answers += [Answer(inner, 1.0, 401, "/"), Answer(inner, 1.0, 200, "/")]
    assert [one.status for one in attacks.broken(answers)] == [500, 200]


def test_the_large_table_is_small_on_the_wire():
    """The attack's table has the form of attempts, 20 million rows, and less than a megabyte."""
    import io

    import pyarrow.parquet as pq

    content = attacks.many_rows()
    metadata = pq.read_metadata(io.BytesIO(content))
    assert metadata.num_rows == attacks.ROWS
    assert metadata.schema.to_arrow_schema().names == SCHEMA.names
    assert len(content) < 2**20
