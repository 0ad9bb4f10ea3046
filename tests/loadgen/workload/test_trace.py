"""Traces of arrivals from CSV and Parquet files, and what is wrong with other files."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadgen.workload import trace
from loadgen.workload.trace import Trace, TraceError


@pytest.fixture
def written(tmp_path):
    """Write a CSV file and return its path."""

    def write(text):
        path = tmp_path / "x.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_rows_are_counted_in_steps_of_a_second(written):
    """Times begin anywhere, and come in any order; the last gap counts as a mean one."""
    found = trace.read(written("# recorded on Monday\ntime_s\n103\n100\n100.5\n\n102\n"))
    assert found == Trace(4.0, (2, 0, 1, 1))


def test_a_session_arrives_with_its_first_row(written):
    text = "session,page,time_s,browser\na,Br-2,1,x\nb,Br-1,0,x\na,Br-1,0.5,x\nb,Tr-4,9,x\n"
    assert trace.read(written(text)) == Trace(1.0, (2,))


def test_without_sessions_each_first_page_is_an_arrival(written):
    assert trace.read(written("time_s,page\n0,Br-1\n1,Br-2\n3,Br-1\n")).counts == (1, 0, 0, 1, 0, 0)


def test_parquet_has_the_same_meaning(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"time_s": [0, 1, 3], "page": ["Br-1", "Br-2", "Br-1"]}), path)
    assert trace.read(path).counts == (1, 0, 0, 1, 0, 0)
    pq.write_table(pa.table({"time_s": [0.0, None]}), path)
    with pytest.raises(TraceError, match=r"x\.parquet: line 2: column time_s: must be a number"):
        trace.read(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(TraceError, match="is not Parquet"):
        trace.read(path)


def test_a_long_trace_has_a_thousand_steps(written):
    found = trace.read(written("time_s\n" + "".join(f"{i}\n" for i in range(5000))))
    assert (found.duration_s, len(found.counts), set(found.counts)) == (5000.0, 1000, {5})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 0: column time_s: is missing.*allowed: time_s"),
        ("when\n1\n", r"line 1: column time_s: is missing"),
        ("time_s,time_s\n1,1\n", r"occurs twice"),
        ("time_s\n0\nsoon\n", r"line 3: column time_s: must be a number; allowed: seconds"),
        ("time_s\n0\nnan\n", r"line 3: column time_s: must be a number"),
        ("# x\ntime_s\n0\n\n1e13\n", r"line 5: column time_s: must be a number"),
        ("time_s,page\n0,Br-1\n1,Br-9\n", r"line 3: column page: is unknown; allowed: Br-1, Br-2"),
        ("time_s,session\n0,a\n1,\n", r"line 3: column session: is empty; allowed: any name"),
        ("time_s\n0\n1,2\n", r"line 3: has 2 columns; allowed: 1"),
        ("time_s\n5\n5\n", r"must have sessions that begin at two or more different times"),
        ("time_s\n" + "1\n" * 200_001, r"more than 200,000 rows; allowed: at most 200,000"),
        ("time_s\n" + "1" * 9_000_000, r"bytes; allowed: at most 8,388,608"),
        ("time_s\n" + '"' + "1" * 200_000, r"is not CSV"),
    ],
)
def test_a_fault_names_file_line_column_and_what_is_allowed(written, text, message):
    with pytest.raises(TraceError, match=r"x\.csv: ") as raised:
        trace.read(written(text))
    assert raised.match(message)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(TraceError, match=r"allowed: a file that ends with \.csv or \.parquet"):
        trace.read(tmp_path / "passwords")
    with pytest.raises(TraceError, match="does not exist; allowed"):
        trace.read(tmp_path / "x.csv")
    (tmp_path / "y.csv").write_bytes(b"time_s\n\xff\n")
    with pytest.raises(TraceError, match="it is not UTF-8"):
        trace.read(tmp_path / "y.csv")
