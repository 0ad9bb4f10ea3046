"""Rows, ranks and who leads."""

import pytest

from lab.leaderboard.board import (
    as_json,
    conditions_table,
    confirms_table,
    differences_table,
    efficiency_table,
    leaders,
    rows_of,
)
from lab.leaderboard.board_study import Board, study
from lab.leaderboard.recovery import Recovery
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import changed, load_spec
from tests.lab.leaderboard.made_up import cell

CELLS = [
    cell("sq", 1.0, 0.6, 0.62),
    cell("door-lifo", 1.0, 0.95, 0.97),
    cell("Few hands", 1.0, 0.94, 0.94),
    cell("dagor", 1.0, 0.96, 0.9),
    cell("sq", 2.0, 0.1, 0.12),
    cell("door-lifo", 2.0, 1.0, 1.01),
    cell("Few hands", 2.0, 0.9, 0.9),
    cell("dagor", 2.0, 0.8, 0.8),
]


def test_rows_are_ranked_over_all_loads_and_steps_are_not():
    rows = rows_of(CELLS)
    assert [(row.title, row.rank) for row in rows] == [
        ("DOOR-LIFO", 1), ("Few hands", None), ("DAGOR", 2), ("SQ", 3),
    ]  # fmt: skip
    assert rows[0].overall.mean == pytest.approx((0.95 + 0.97 + 1.0 + 1.01) / 4)
    assert rows[0].estimated[2.0].mean == pytest.approx(1.005)
    assert rows[3].counted[2.0].mean == pytest.approx(10 / (27 / 2))
    assert rows[3].confirms == {1.0: 20, 2.0: 20}


def test_level_with_the_best_is_whose_difference_reaches_nothing():
    rows = rows_of(CELLS)
    assert [row.title for row in leaders(rows, 1.0)] == ["DOOR-LIFO", "DAGOR"]
    assert [row.title for row in leaders(rows, 2.0)] == ["DOOR-LIFO"]
    assert leaders(rows, 3.0) == []
    alone = rows_of([cell("sq", 1.0, 0.5), cell("dagor", 1.0, 0.6)])
    assert [row.title for row in leaders(alone, 1.0)] == ["DAGOR"]


def test_the_overall_mean_is_of_whole_repetitions():
    half = [cell("sq", 1.0, 0.8, 0.6), cell("sq", 2.0, 0.4)]
    (row,) = rows_of(half)
    assert row.overall.mean == pytest.approx(0.6)
    assert row.overall.half_width is None
    (row,) = rows_of([cell("sq", 1.0, 0.8), cell("sq", 2.0, 0.4, seeds=(2,))])
    assert row.overall.mean == pytest.approx(0.6)  # no seed has both
    assert row.overall.half_width is None


def test_pairs_are_those_of_a_seed_whatever_is_missing():
    """By position 0.80 would be held against 0.80, and the two would be level."""
    best = cell("door-lifo", 1.0, 0.8, 0.9, 1.0)
    behind = cell("sq", 1.0, 0.80, 0.91, seeds=(2, 3))
    assert [row.title for row in leaders(rows_of([best, behind]), 1.0)] == ["DOOR-LIFO"]
    nobody_buys = rows_of([best, cell("dagor", 1.0, None, 0.81, 0.95)])
    assert [row.title for row in leaders(nobody_buys, 1.0)] == ["DOOR-LIFO", "DAGOR"]
    assert nobody_buys[1].repetitions[1.0] == {2: 0.81, 3: 0.95}
    apart = rows_of([best, cell("sq", 1.0, 0.7, 0.7, seeds=(8, 9))])
    assert [row.title for row in leaders(apart, 1.0)] == ["DOOR-LIFO"]


def test_the_tables_have_every_load():
    rows = rows_of([*CELLS, cell("dagor", 3.0, 0.5, 0.5)])
    table = efficiency_table(rows)
    assert table.header == (
        *("Policy", "Rank", "ρ = 1", "ρ = 2", "ρ = 3"),
        *("All loads", "Behind the best", "Recovered after s"),
    )
    by_title = {row[0]: row for row in table.rows}
    assert by_title["Few hands"][1] == "step"
    assert by_title["SQ"][4] == "–"
    assert len(confirms_table(rows).rows[0]) == 7


def test_what_a_row_lacks_to_the_best_is_paired_by_seed():
    """Two rows whose own intervals overlap widely differ by the same amount on every seed."""
    rows = rows_of([cell("door-lifo", 1.0, 0.6, 0.9, 0.7), cell("sq", 1.0, 0.55, 0.85, 0.65)])
    overall = {row[0]: row[-2] for row in efficiency_table(rows).rows}
    assert overall == {"DOOR-LIFO": "best", "SQ": "0.05 ± 0.00"}
    assert [row[1] for row in differences_table(rows).rows] == ["best", "0.05 ± 0.00"]
    assert as_json(rows)[1]["behind"] == "0.05 ± 0.00"


def test_a_load_at_which_only_a_step_has_run_has_no_best(tmp_path):
    """The first runs of an interrupted board can be such runs; the columns still fit the rows."""
    rows = rows_of([cell("Few hands", 1.0, 0.6), cell("dagor", 2.0, 0.5), cell("sq", 2.0, 0.4)])
    table = differences_table(rows)
    assert (table.header, table.rows[0]) == (("Policy", "ρ = 2"), ("DAGOR", "best"))
    facts = {"machine": {}, "versions": {}, "capacity": {}}
    folder = ComparisonResult.create(tmp_path, load_spec("leaderboard"), facts, [])
    found = Board(folder, rows, [], 1.0, [])
    assert all(table.rows for table in found.tables())  # no session of a ranked policy at ρ = 1
    words = study(found).figures[0].what
    assert "At ρ = 2, DAGOR is the best." in words
    assert "ρ = 1" not in words


def test_seconds_to_recover_stand_next_to_efficiency():
    rows = rows_of([cell("door-lifo", 1.0, 0.6), cell("sq", 1.0, 0.5), cell("dagor", 1.0, 0.4)])
    live = {"door-lifo": (10.0, 20.0), "sq": (None, 30.0)}
    known = {policy: Recovery("live", seconds) for policy, seconds in live.items()}
    found = {row[0]: row[-1] for row in efficiency_table(rows, known).rows}
    assert found == {"DOOR-LIFO": "15 ± 64", "SQ": "30; never in 1 of 2", "DAGOR": "–"}
    assert as_json(rows, known)[0]["recovery"]["mean"] == 15.0


def test_every_row_says_its_settings_and_what_happens_when_a_customer_leaves():
    """Rows that treat customers who leave differently are marked: they cannot be compared."""
    spec = load_spec("live-leaderboard")
    table = conditions_table(spec)
    assert {row[3] for row in table.rows} == {"ignore"}
    assert "All rows have the same abandonment setting. By default, HAProxy" in table.note
    (tuned,) = [row for row in table.rows if row[0] == "HAProxy, tuned"]
    assert tuned[1] == "HAProxy"
    assert "maxconn" in tuned[2]
    unlike = changed(spec, policy=[{"name": "sq"}, {"gateway": "nginx", "abandonment": "cancel"}])
    assert "NOT ALIKE" in conditions_table(unlike).note


def test_its_file_has_what_a_page_needs():
    first = as_json(rows_of(CELLS))[0]
    assert first["policy"] == "door-lifo"
    assert first["estimated"]["2"]["mean"] == pytest.approx(1.005)
    assert first["expected"] == {"1": 51.8, "2": 27.1}  # of the bounds 27 and 13.5, twice each
    assert set(first) == {
        "policy", "title", "rank", "overall", "estimated", "counted", "confirms", "expected",
        "repetitions", "behind", "recovery",
    }  # fmt: skip
