"""Tidy CSV: one number in each row, with its interval and unit in columns."""

import csv
import io

import pytest

from lab.analysis.metrics import METRICS
from lab.report import tidy
from lab.report.drawing.table import Table


def rows_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a file that begins with the byte order mark."""
    assert text.startswith(tidy.BYTE_ORDER_MARK)
    return list(csv.DictReader(io.StringIO(text.removeprefix(tidy.BYTE_ORDER_MARK))))


def test_a_number_its_interval_and_its_unit_have_columns():
    """Loads and policies stay in their own columns."""
    table = Table(
        "Who sells",
        ("ρ", "Policy", "Completed %", "Confirms", "Estimated"),
        [("1.4", "8Q-LIFO-Pri", "49.5 ± 9.6", "1,938", "–")],
    )
    completed, confirms, estimated = rows_of(tidy.of_table(table))
    assert completed == {
        "rho": "1.4", "policy": "8Q-LIFO-Pri", "metric": "Completed %", "value": "49.5",
        "low": "39.9", "high": "59.1", "unit": "%", "published": "",
    }  # fmt: skip
    assert (confirms["value"], confirms["low"], confirms["unit"]) == ("1938", "", "confirms")
    assert estimated["value"] == ""


@pytest.mark.parametrize(
    ("cell", "numbers"),
    [
        ("54,480 | 54,482 ± 6", ("54482", "54476", "54488", "54480")),
        ("– | 0 ± 0", ("0", "0", "0", "")),
        ("5 ± 8 %", ("5", "-3", "13", "")),
        ("+0.519 ± 0.165 *", ("0.519", "0.354", "0.684", "")),
        ("-1.3", ("-1.3", "", "", "")),
        ("ignore", ("ignore", "", "", "")),
    ],
)
def test_every_form_of_a_cell_is_read(cell, numbers):
    """Published numbers have their own column; marks and percent signs are not in the value."""
    (row,) = rows_of(tidy.of_table(Table("Any", ("ρ", "Policy", "x"), [("2", "SQ", cell)])))
    assert tuple(row[name] for name in ("value", "low", "high", "published")) == numbers


def test_columns_of_policies_become_rows():
    """A table with a column for each policy and load gets columns for both."""
    table = Table("Table 5: percent", ("", "ρ = 2 SQ + SBAC"), [("Completed", "54.7 | 53.0 ± 1.0")])
    (row,) = rows_of(tidy.of_table(table))
    assert [row[name] for name in ("rho", "policy", "metric", "value", "published", "unit")] == [
        "2", "SQ + SBAC", "Completed", "53.0", "54.7", "%",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Who sells", "who-sells.csv"),
        ("Table 4: requests by type, published | measured", "table-4.csv"),
        ("Requests, in % of all planned requests", "requests.csv"),
        ("Σ", "table.csv"),
    ],
)
def test_files_have_the_names_of_their_tables(title, name):
    """A name is short and has only letters, digits and dashes."""
    assert tidy.file_name(title) == name


def test_runs_and_their_summary_have_every_metric():
    """One row for each run, and one for each metric with mean and interval."""
    runs = [
        {"policy": "sq", "rho": 1.4, "seed": seed, **{one.name: float(seed) for one in METRICS}}
        for seed in (1, 2, 3)
    ]
    table = rows_of(tidy.by_run(runs))
    assert [row["seed"] for row in table] == ["1", "2", "3"]
    assert {metric.name for metric in METRICS} < set(table[0])
    summary = {row["metric"]: row for row in rows_of(tidy.summary(runs))}
    assert len(summary) == len(METRICS)
    confirms = summary["confirms"]
    assert (confirms["policy"], confirms["value"], confirms["unit"]) == ("SQ", "2.0", "confirms")
    assert float(confirms["low"]) < 2 < float(confirms["high"])
