"""The fates of one simulated run's sessions, in every place where a reader meets them."""

import pytest

from lab.analysis import logs
from lab.analysis.curves import curves_of
from lab.database.rows import run_row
from lab.files import documents
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec, changed
from lab.wording import title_of
from tests.labs.small_results import small_result

RUSH = changed(
    Spec(),
    policy=[{"name": name} for name in ("sq", "8q-lifo-pri", "door-lifo", "door-fifo")],
    load__rho=[2.0],
)
STEADFAST = changed(
    RUSH, customers__timeout_s=1e6, customers__retry_probability=0.0, customers__max_retries=0
)
"""Customers who neither leave nor try again: each session that fails was turned away once."""


@pytest.fixture(scope="module")
def rush(tmp_path_factory):
    """A small result of RUSH."""
    return ComparisonResult(small_result(RUSH, tmp_path_factory.mktemp("results")))


def table_by_policy(folder):
    """Policy → column → number in the table *Sessions*."""
    tables = documents.read_json(folder.path / "tables.json")
    (table,) = (table for table in tables if table["title"] == "Sessions")
    return {
        row[1]: dict(zip(table["header"][2:], map(number, row[2:]), strict=True))
        for row in table["rows"]
    }


def number(cell):
    """The mean in a cell; None for a dash."""
    return None if cell == "–" else float(cell.split(" ")[0].replace(",", ""))


def ends_of_runs(folder):
    """Return policy → the last frame of its course in the race."""
    return {
        planned.policy: {
            name: values[-1]
            for name, values in logs.frames({"path": folder.path, "run": planned.folder}).items()
            if name.endswith("_total")
        }
        for planned, _ in folder.whole_runs()
    }


def test_race_and_table_of_one_run_agree(tmp_path):
    """Sessions that the race shows as turned away are rejected, lost or never let in in
    the table."""
    folder = ComparisonResult(small_result(STEADFAST, tmp_path))
    table = table_by_policy(folder)
    for policy, ends in ends_of_runs(folder).items():
        row = table[title_of(policy)]
        turned_away = ends["dropped_total"] + ends["rejected_total"]
        failed_percent = row["Rejected %"] + row["Never let in %"] + row["Lost %"]
        assert 100 * turned_away / row["Arrived"] == pytest.approx(failed_percent, abs=0.15)
        assert failed_percent + row["Sessions completed %"] == pytest.approx(100, abs=0.2)
    assert ends_of_runs(folder)["door-lifo"]["dropped_total"] > 0
    assert table["DOOR-LIFO"]["Lost %"] == 0


def test_door_loses_no_session_that_it_let_in(rush):
    """At ρ = 2 DOOR turns half of the sessions away at the start, SQ loses many on the way."""
    table = table_by_policy(rush)
    assert table["DOOR-LIFO"]["Lost %"] == table["DOOR-FIFO"]["Lost %"] == 0
    assert table["DOOR-LIFO"]["Never let in %"] > 30
    assert table["DOOR-FIFO"]["Rejected %"] > 30
    assert table["SQ"]["Lost %"] > 10


def test_page_table_and_database_say_the_same(rush):
    """The bars of the page, the table and the database have the same four fates."""
    table = table_by_policy(rush)
    lines = {line["policy"]: line for line in curves_of(rush)["lines"]}
    columns = {"completed": "Sessions completed %", "lost": "Lost %",
               "never_let_in": "Never let in %", "rejected": "Rejected %"}  # fmt: skip
    for planned, _ in rush.whole_runs():
        row = run_row(rush, rush.spec(), planned)
        assert list(lines[row["policy"]]["fates"]) == list(columns)
        for fate, column in columns.items():
            share = lines[row["policy"]]["fates"][fate]["mean"]
            assert row[f"{fate}_sessions"] == pytest.approx(share * row["arrived_sessions"])
            assert table[row["title"]][column] == pytest.approx(100 * share, abs=0.051)
