"""Pictures of measured and simulated results, for the gallery."""

import re

from lab.analysis.hysteresis import CONDUCTS
from lab.console.gallery import measured_pictures
from lab.files.documents import write_json
from lab.leaderboard.recovery import case_of
from lab.spec.experiment import load_spec
from tests.lab.attempt_tables import RUSH
from tests.lab.leaderboard.test_hysteresis import run
from tests.lab.report.test_tables import SPEC, finished


def words(picture):
    return set(re.findall(r"<text[^>]*>([^<]+)</text>", picture.read_text()))


def test_every_policy_is_in_it(tmp_path):
    result = finished(tmp_path, SPEC, RUSH)
    drawn = measured_pictures.draw("small", result, tmp_path / "pictures")
    assert {"SQ", "8Q-LIFO-Pri", f"ρ = 1.4, {SPEC.engine}"} <= words(drawn)
    again = measured_pictures.draw("small", result, tmp_path / "again")
    assert again.read_bytes() == drawn.read_bytes()


def test_the_rush_is_drawn_of_two_policies_of_a_report_on_hysteresis(tmp_path):
    board = load_spec("leaderboard")
    report = tmp_path / "20260102T000000Z-hysteresis"
    (report / "simulations").mkdir(parents=True)
    for conduct in CONDUCTS:
        for policy in ("pass-through", "door-fifo", "sq"):
            case = case_of(board, conduct, policy, quick=False)
            content = {"case": case.as_json(), "seed": 1, "metrics": run(*[1.0] * 40)}
            write_json(report / "simulations" / f"{case.id}.json", content)
    drawn = words(measured_pictures.draw_rush("hysteresis", report, tmp_path / "pictures"))
    assert {"Pass-through: 1 s", "DOOR-FIFO: 1 s"} <= drawn
    assert "Hysteresis · 2 runs, simulated · 2026-01-02" in drawn
    assert not any(text.startswith("SQ") for text in drawn)


def test_the_first_look_shows_what_it_launches():
    seen = words(measured_pictures.FOLDER / "simulated" / "first-look.svg")
    spec = load_spec("first-look")
    assert {"SQ", "8Q-LIFO-Pri", f"customers of {spec.load.sessions:,} who buy"} <= seen
    assert any(text.startswith(f"ρ = {spec.load.rhos[0]:g}, simulated") for text in seen)
