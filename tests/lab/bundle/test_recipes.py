"""The queries of docs/data.md, each run by DuckDB in the folder of a result."""

import csv
import re
from pathlib import Path

import duckdb
import pytest

from lab.analysis.cells import read_cells
from lab.analysis.outcomes import response_times_s
from lab.results.comparison import ComparisonResult
from lab.results.reference import FOLDER
from runtime.settings import REPOSITORY

PAGE = (REPOSITORY / "docs" / "data.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^([^\n]+)\n\n```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
"""The line before a query → the query."""
RESULT = ComparisonResult(FOLDER / "reference-race")


@pytest.fixture
def ask(race: Path, monkeypatch: pytest.MonkeyPatch):
    """Answer the query below the line that begins with some words, as a list of rows by column."""
    monkeypatch.chdir(race)

    def answer(words: str) -> list[dict]:
        (query,) = (query for line, query in QUERIES.items() if line.startswith(words))
        with duckdb.connect(config={"threads": 1}) as database:
            found = database.execute(query)
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return answer


def test_the_page_has_queries():
    assert len(QUERIES) == PAGE.count("```sql") == 7


def test_outcomes_sales_and_sessions_are_those_of_doorbuster(ask):
    cells = {cell.policy: cell for cell in read_cells(RESULT)}
    folders = {planned.folder: cells[planned.policy].runs[0] for planned in RESULT.plan()}
    counted = {(row["run"], row["outcome"]): row["attempts"] for row in ask("Outcomes of")}
    assert counted == {
        (folder, outcome): number
        for folder, run in folders.items()
        for outcome in {one for page in run.attempts.values() for one in page}
        if (number := run.count(outcome))
    }
    sold = {row["policy"]: (row["confirms"], row["completed"]) for row in ask("Sales of")}
    assert sold == {
        policy: (cell.confirms, pytest.approx(cell.runs[0].completed_ratio))
        for policy, cell in cells.items()
    }
    fates = {row["run"]: (row["arrived"], row["complete"]) for row in ask("Three numbers")}
    assert fates == {
        folder: (run.fates.arrived, run.fates.completed) for folder, run in folders.items()
    }


def test_response_times_are_those_of_doorbuster(ask):
    """Unanswered attempts are endless in both."""
    rows = {(row["run"], row["page"]): row for row in ask("Response times of")}
    for planned, run in RESULT.whole_runs():
        times_s = sorted(response_times_s(run.attempts(), "Br-1"))
        row = rows[planned.folder, "Br-1"]
        assert row["attempts"] == len(times_s)
        assert times_s[len(times_s) // 2 - 1] <= row["median_s"] <= times_s[len(times_s) // 2 + 1]


def test_queues_pairs_and_the_file_for_other_programs(ask, race):
    queues = ask("Growth of")
    assert {row["run"] for row in queues} == {planned.folder for planned in RESULT.plan()}
    assert all(row["from_s"] % 10 == 0 and row["waiting"] >= 0 for row in queues)
    confirms = {cell.policy: cell.confirms for cell in read_cells(RESULT)}
    more = confirms["8q-lifo-pri"] - confirms["sq"]
    assert ask("The difference in confirms") == [{"rho": 1.4, "seed": 1, "more_confirms": more}]
    ask("A CSV file")
    with (race / "attempts.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    attempts = [run.attempts() for _, run in RESULT.whole_runs()]
    assert len(written) == sum(response_times_s(table).size for table in attempts)
