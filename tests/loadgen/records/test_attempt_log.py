"""The attempt schema: written rows come back, and rows of another schema are refused."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.records.attempt_log import (
    SCHEMA,
    AttemptLog,
    read_attempts,
    read_metadata,
)
from loadgen.records.attempts import Attempt, AttemptOutcome, not_generated
from loadgen.records.rows import RowsFileError
from loadgen.workload.sessions import PAGES

DONE = Attempt(3, 0, "Br-1", 1, 0.5, 0.501, 0.75, 12.5, "completed", 200, "r-1")

_time = st.floats(0, 1e6)
_rows = st.builds(
    Attempt,
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**15 - 1),
    st.sampled_from(PAGES),
    st.integers(0, 201),
    _time,
    _time,
    _time,
    st.one_of(_time, st.just(math.inf)),
    st.sampled_from([outcome.value for outcome in AttemptOutcome]),
    st.integers(0, 599),
    st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=40),
)


def test_what_is_written_comes_back_in_order(tmp_path):
    path = tmp_path / "attempts.parquet"
    log = AttemptLog()
    log.append(not_generated(3, 1, "Br-2"))
    log.append(DONE)
    log.append(DONE._replace(session=1, patience_s=math.inf))
    log.write(path, {"seed": 7})
    table = read_attempts(path)
    assert table.schema.equals(SCHEMA, check_metadata=False)
    rows = [Attempt(**row) for row in table.to_pylist()]
    assert rows == [
        DONE._replace(session=1, patience_s=math.inf),
        DONE,
        not_generated(3, 1, "Br-2"),
    ]
    assert read_metadata(path) == {"seed": 7}


@settings(deadline=None)
@given(st.lists(_rows, max_size=30), st.integers(0, 30))
def test_rows_sent_as_columns_are_the_same_rows(rows, cut):
    whole, parts = AttemptLog(), AttemptLog()
    for row in rows:
        whole.append(row)
    first = AttemptLog()
    for row in rows[:cut]:
        first.append(row)
    parts.extend_columns(first.columns_since(0))
    parts.extend_columns(whole.columns_since(min(cut, len(rows))))
    assert parts.table().equals(whole.table())
    assert len(parts) == len(rows)


def test_columns_that_do_not_fit_are_refused():
    log = AttemptLog()
    with pytest.raises(ValueError, match="11 columns of equal length"):
        log.extend_columns([[1], [0]])
    with pytest.raises(ValueError, match="11 columns of equal length"):
        log.extend_columns([[1]] * 10 + [[]])
    assert len(log) == 0


def test_outcomes_of_a_stretch_of_time():
    log = AttemptLog()
    for finished_s in (1.0, 2.0, 3.0):
        log.append(DONE._replace(finished_s=finished_s))
    log.append(DONE._replace(finished_s=2.5, outcome="dropped"))
    log.append(not_generated(3, 1, "Br-2"))
    assert log.outcomes_between(2.0, 3.0) == {"completed": 1, "dropped": 1}


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "attempts.parquet"
    log = AttemptLog()
    log.append(DONE)
    log.write(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        log.write(path, {"seed": math.nan})
    blocked = tmp_path / "folder"
    blocked.mkdir()
    with pytest.raises(OSError, match="folder"):
        log.write(blocked)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["attempts.parquet", "folder"]


def test_a_missing_file_and_one_that_is_no_parquet_are_refused(tmp_path):
    with pytest.raises(RowsFileError, match="no such file"):
        read_attempts(tmp_path / "none.parquet")
    text = tmp_path / "text.parquet"
    text.write_text("session,page\n", encoding="utf-8")
    with pytest.raises(RowsFileError, match="not a readable Parquet file"):
        read_attempts(text)
    cut = tmp_path / "cut.parquet"
    log = AttemptLog()
    log.append(DONE)
    log.write(cut)
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(RowsFileError, match="not a readable Parquet file"):
        read_metadata(cut)


def _table(**changes):
    log = AttemptLog()
    log.append(DONE)
    table = log.table()
    for name, column in changes.items():
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (_table().drop_columns(["patience_s"]), "column patience_s is missing"),
        (_table(step=pa.array([0], pa.int64())), "column step is int64, but must be int16"),
        (_table(colour=pa.array(["red"])), "column colour is not part of the schema"),
        (_table(outcome=pa.array(["lost"])), "outcome 'lost' is unknown; outcomes are completed"),
    ],
)
def test_a_file_of_another_schema_is_refused_by_name(tmp_path, table, message):
    path = tmp_path / "other.parquet"
    pq.write_table(table, path)
    with pytest.raises(RowsFileError) as refusal:
        read_attempts(path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
