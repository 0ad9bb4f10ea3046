"""A student's policy in robustness and hysteresis: its text travels along.

Where it was given up, the result has a mark.
"""

import json
from collections import OrderedDict

import pytest

from gateway.students import files
from lab.leaderboard import board, hysteresis_study, robustness_study
from lab.leaderboard.measures import COURSE, EFFICIENCY, case_of
from lab.leaderboard.run_study import carry_out_study
from lab.results.metrics import Results
from lab.spec.experiment import changed, load_spec
from lab.studies.measures import simulate_case
from tests.gateway.students.policies import source

LATE = source(workers_free="1 / (time_s < 3)")
"""Well for three seconds."""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(LATE)
    return path


def spec_of(path, **more):
    return changed(
        load_spec("leaderboard"), policy=[{"name": str(path)}], load__sessions=40, repetitions=1,
        **more,
    )  # fmt: skip


@pytest.mark.parametrize("measure", [EFFICIENCY, COURSE])
def test_its_text_goes_with_the_task_and_what_became_of_it_comes_back(path, measure, monkeypatch):
    """It works on a machine that does not have the file."""
    usual, *_ = robustness_study.scenarios(quick=True)
    case = case_of(usual.spec(spec_of(path)), "late", measure)
    task = json.loads(json.dumps({"case": case.as_json(), "seed": 1}))
    path.unlink()
    monkeypatch.setattr(files, "remembered", OrderedDict())
    why = simulate_case(task)["fallen_back"]
    assert why["at_s"] >= 3.0
    assert "ZeroDivisionError" in why["reason"]
    known = case_of(usual.spec(load_spec("leaderboard")), "sq", measure)
    assert known.own == ()


def test_a_report_marks_it_says_why_and_keeps_its_text(path, tmp_path, monkeypatch, capsys):
    results = tmp_path / "results"
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(results))
    usual, *_ = robustness_study.scenarios(quick=True)
    monkeypatch.setattr(robustness_study, "scenarios", lambda quick: (usual,))
    carry_out_study("robustness", spec_of(path), quick=True, fresh=False, processes=1, broker=None)
    (folder,) = results.iterdir()
    assert folder.name.endswith("-leaderboard-robustness-quick")
    assert (folder / "policies" / "late.py").read_text() == LATE
    assert (folder / "figures" / "robustness.svg").is_file()
    said = " ".join(capsys.readouterr().out.split())
    page = (folder / "report.html").read_text()
    for text in (said, page):
        assert "late*" in text
        assert "FELL BACK TO FIFO: late, usual, 1 of 1 runs, seed 1, at 3" in text


def run(seed, **more):
    return {
        "seed": seed, "arrivals_until_s": 500.0, "calm_p95_s": 1.0, "response_p95_s": [1.0] * 500,
        "answered_ratio": [1.0] * 500, "waiting": [0] * 500, **more,
    }  # fmt: skip


def test_hysteresis_marks_it_too(path):
    study = hysteresis_study.study(spec_of(path), quick=True)
    case, *_ = study.cases()
    given_up = {"fallen_back": {"at_s": 12.3, "reason": "line 7: 1 / 0"}}
    results = Results({case.id: [run(1), run(2, **given_up), run(3, fallen_back=None)]})
    table = study.figures[0].tables[0].table(results)
    assert table.rows[0][0] == "late*"
    assert "1 of 3 runs, seed 2, at 12 s: line 7: 1 / 0. From then on" in table.note
    assert hysteresis_study.course("late", results.of(case)).title == "late*"
    well = study.figures[0].tables[0].table(Results({case.id: [run(1)]}))
    assert well.rows[0][0] == "late"
    assert board.FALLBACK_MARK not in well.note
