"""The class's scoreboard: rows kept, replaced and ordered; a whole game."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.errors import ExperimentError, SpecError
from lab.students.scoreboard import Board, alike, author, play
from lab.students.template import write_policy
from tests.gateway.students.policies import source


def row(policy, mean, half_width=0.1, **more):
    known = {"mean": mean, "half_width": half_width}
    return {
        "policy": policy,
        "title": policy,
        "by": "somebody",
        "overall": known,
        "estimated": {"1.4": known, "1": {"mean": 1.0, "half_width": None}},
        "confirms": {"1.4": 20, "1": 30},
        "expected": {"1.4": 22.4, "1": 30.0},
        "repetitions": {"1.4": {"1": mean - 0.05, "2": mean + 0.05}, "1": {"1": 1.0, "2": 1.0}},
        **more,
    }


def board(*rows):
    return Board(alike(), rows)


def test_the_best_stands_first_and_who_was_given_up_is_marked():
    table = board(row("slow", 0.2), row("good", 0.9), row("lost", 0.5, fallen_back="1 / 0")).table()
    assert table.header[:6] == ("Place", "Policy", "By", "ρ = 1", "ρ = 1.4", "All loads")
    assert table.header[6:] == ("Behind the best", "Confirms", "Expected")
    assert [found[:3] for found in table.rows] == [
        ("1", "good", "somebody"),
        ("2", "lost*", "somebody"),
        ("3", "slow", "somebody"),
    ]
    assert table.rows[0][3:] == ("1.00", "0.90 ± 0.10", "0.90 ± 0.10", "best", "50", "52")
    assert "overlap: no difference" not in table.note


def test_policies_are_compared_by_paired_differences_of_the_same_seed():
    """Their own intervals overlap; on the same customers the second is worse every time."""
    worse = row("worse", 0.8, repetitions={"1.4": {"1": 0.75, "2": 0.85}, "1": {"1": 1.0, "2": 1}})
    apart = row("apart", 0.7, repetitions={"1.4": {"8": 0.7}, "1": {"8": 1.0}})
    found = {one[1]: one[6] for one in board(row("good", 0.9), worse, apart).table().rows}
    assert found == {"good": "best", "worse": "0.050 ± 0.000", "apart": "–"}


def test_who_sells_far_less_than_is_estimated_has_no_place():
    """A policy that knows which sessions buy can do this: it turns long sessions away at once."""
    knowing = row("knowing", 1.2, confirms={"1": 0, "1.4": 3}, expected={"1": 12.0, "1.4": 25.0})
    unlucky = row("unlucky", 1.0, confirms={"1": 6, "1.4": 15}, expected={"1": 12.0, "1.4": 25.0})
    places = [
        (found[0], found[1]) for found in board(knowing, unlucky, row("good", 0.9)).table().rows
    ]
    assert places == [("1", "unlucky"), ("2", "good"), ("–", "knowing")]


def test_it_is_kept_and_found_again(tmp_path):
    board(row("good", 0.9)).write(tmp_path / "scoreboard")
    assert Board.read(tmp_path / "scoreboard").rows == {("good", "somebody"): row("good", 0.9)}
    assert "| 1 | good | somebody |" in (tmp_path / "scoreboard" / "scores.md").read_text()


def test_two_of_a_class_may_call_theirs_alike():
    mine, theirs = row("quiet_door", 0.5, by="A. N."), row("quiet_door", 0.7, by="B. M.")
    again = row("quiet_door", 0.9, by="A. N.")
    assert [found[1:3] for found in board(mine, theirs, again).table().rows] == [
        ("quiet_door", "A. N."),
        ("quiet_door", "B. M."),
    ]


def test_who_plays_meanwhile_loses_no_row(tmp_path):
    """Both begin with the same board; each adds its own when it is done, many at a time."""
    board(row("sq", 0.1)).write(tmp_path)
    names = [f"policy_{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as class_:
        for name in names:
            class_.submit(Board.add, tmp_path, [row(name, 0.5)], pytest.fail)
    assert {policy for policy, _ in Board.read(tmp_path).rows} == {"sq", *names}


def test_fresh_leaves_what_others_have_put_there_since(tmp_path):
    old = row("old", 0.1, played_at="2026-01-01T10:00:00+00:00")
    meanwhile = row("meanwhile", 0.2, played_at="2026-01-01T12:00:01+00:00")
    board(old, meanwhile).write(tmp_path)
    since = "2026-01-01T12:00:00.500000+00:00"
    found = Board.add(tmp_path, [row("mine", 0.3)], pytest.fail, since=since)
    assert {policy for policy, _ in found.rows} == {"meanwhile", "mine"}


def test_fresh_keeps_the_board_until_new_rows_replace_it(tmp_path, monkeypatch):
    """A file that has no row, such as one with a typing error, leaves the board as it was."""
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    board(row("old", 0.1, played_at="2026-01-01T10:00:00+00:00")).write(tmp_path / "scoreboard")
    broken = tmp_path / "broken.py"
    broken.write_text("def policy(:\n")
    with pytest.raises(ExperimentError, match=r"broken\.py is not valid"):
        play([broken], fresh=True, processes=None)
    assert {policy for policy, _ in Board.read(tmp_path / "scoreboard").rows} == {"old"}


def test_fresh_alone_empties_the_board(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    board(row("old", 0.1, played_at="2026-01-01T10:00:00+00:00")).write(tmp_path / "scoreboard")
    play([], fresh=True, processes=None)
    assert "The board is empty." in capsys.readouterr().out
    assert not Board.read(tmp_path / "scoreboard").rows


def test_a_program_gets_the_board_as_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    board(row("slow", 0.2), row("good", 0.9)).write(tmp_path / "scoreboard")
    done = CliRunner().invoke(main, ["policy", "score", "--json"])
    assert done.exit_code == 0, done.output
    found = [(one["place"], one["policy"]) for one in json.loads(done.stdout)]
    assert found == [(1, "good"), (2, "slow")]
    assert "Scoreboard" in done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"rows": [{"policy": "x"}], "conditions": "ALIKE"}', "is damaged"),
        ('{"conditions": "other", "rows": []}',
         "was made under other conditions or by another version"),
    ],
)  # fmt: skip
def test_what_cannot_stand_beside_is_moved_aside_and_said(text, why, tmp_path):
    text = text.replace("ALIKE", alike())
    (tmp_path / "scores.json").write_text(text)
    assert Board.read(tmp_path).rows == {}
    said = []
    assert Board.of(tmp_path, said.append).rows == {}
    (aside,) = tmp_path.glob("scores-*.json")
    assert aside.read_text() == text
    assert said == [
        f"{tmp_path / 'scores.json'} {why}, so it was moved to {aside}, and a new board begins."
    ]
    Board.add(tmp_path, [row("good", 0.9)], pytest.fail)
    assert set(Board.of(tmp_path, pytest.fail).rows) == {("good", "somebody")}


def test_a_place_that_cannot_be_written_is_an_error_for_people(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExperimentError, match="cannot be read and written"):
        Board.of(tmp_path / "file" / "scoreboard", pytest.fail)


def test_two_of_a_name_are_not_played_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path / "results"))
    with pytest.raises(SpecError, match="two files have the name mine; give them in two commands"):
        play([tmp_path / "a/mine.py", tmp_path / "b/mine.py"], fresh=False, processes=None)
    assert not (tmp_path / "results" / "scoreboard").exists()


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
    found.rows = {policy: one for (policy, _), one in found.rows.items()}
    assert set(found.rows) == {"quiet_door", "late", "sq", "8q-lifo-pri", "door-lifo"}
    assert found.rows["quiet_door"]["by"] == "my name"
    assert found.rows["quiet_door"]["fallen_back"] is None
    assert "ZeroDivisionError" in found.rows["late"]["fallen_back"]
    overall = {key: each["overall"]["mean"] for key, each in found.rows.items()}
    assert overall["door-lifo"] > overall["quiet_door"] == overall["sq"]
    said = capsys.readouterr().out
    assert "is left out: pure: line 1: import os" in " ".join(said.split())
    assert "late*" in said
    (result,) = (tmp_path / "results").glob("*/policies/quiet_door.py")
    assert result.read_text() == policy.read_text()


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("the project", "the project (own policy)"),
        ("The  \uff50roject ", "The project (own policy)"),
        (" bob", "bob"),
        ("\uff42ob", "bob"),
    ],
)
def test_no_author_is_the_project(text, by):
    assert author(text) == by
