"""The class's scoreboard: rows kept, replaced and ordered; a whole game."""

import json

import pytest

from lab.experiments.students.scoreboard import Board, conditions, play
from lab.experiments.students.template import write_policy
from tests.gateway.students.policies import source


def row(policy, mean, half_width=0.1, **more):
    known = {"mean": mean, "half_width": half_width}
    return {
        "policy": policy,
        "title": policy,
        "by": "somebody",
        "overall": known,
        "estimated": {"1.4": known, "1": {"mean": 1.0, "half_width": None}},
        **more,
    }


def board(*rows):
    return Board(conditions().fingerprint, {one["policy"]: one for one in rows})


def test_the_best_stands_first_and_who_was_given_up_is_marked():
    table = board(row("slow", 0.2), row("good", 0.9), row("lost", 0.5, fallen_back="1 / 0")).table()
    assert table.header == ("Place", "Policy", "By", "ρ = 1", "ρ = 1.4", "All loads")
    assert [found[:3] for found in table.rows] == [
        ("1", "good", "somebody"),
        ("2", "lost*", "somebody"),
        ("3", "slow", "somebody"),
    ]
    assert table.rows[0][3:] == ("1.00", "0.90 ± 0.10", "0.90 ± 0.10")


def test_it_is_kept_and_found_again(tmp_path):
    board(row("good", 0.9)).write(tmp_path / "scoreboard")
    assert Board.read(tmp_path / "scoreboard").rows == {"good": row("good", 0.9)}
    assert "| 1 | good | somebody |" in (tmp_path / "scoreboard" / "scores.md").read_text()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"conditions": "other", "rows": []}', None],
)
def test_what_cannot_stand_beside_is_left(text, tmp_path):
    if text is None:  # damaged rows
        text = json.dumps({"conditions": conditions().fingerprint, "rows": [{"policy": "x"}]})
    (tmp_path / "scores.json").write_text(text)
    assert Board.read(tmp_path).rows == {}


@pytest.mark.long
def test_a_newcomer_s_walk_ends_with_a_row(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path / "results"))
    policy, _ = write_policy("quiet-door", tmp_path / "own")
    broken = tmp_path / "own" / "broken.py"
    broken.write_text("import os\n")
    late = tmp_path / "own" / "late.py"  # fine in the check, given up in a run
    late.write_text(source(workers_free="1 / (time_s < 300)"))
    play([policy, broken, late], fresh=False, processes=None)
    found = Board.read(tmp_path / "results" / "scoreboard")
    assert set(found.rows) == {"quiet_door", "late", "sq", "8q-lifo-pri", "door-lifo"}
    assert found.rows["quiet_door"]["by"] == "my name"
    assert found.rows["quiet_door"]["fallen_back"] is None
    assert "ZeroDivisionError" in found.rows["late"]["fallen_back"]
    overall = {key: each["overall"]["mean"] for key, each in found.rows.items()}
    assert overall["door-lifo"] > overall["quiet_door"] > overall["sq"]
    said = capsys.readouterr().out
    assert "is left out: pure: line 1: import os" in " ".join(said.split())
    assert "late*" in said
    (result,) = (tmp_path / "results").glob("*/policies/quiet_door.py")
    assert result.read_text() == policy.read_text()
