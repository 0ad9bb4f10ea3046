"""Seconds to recover: words, where they are found, and that a board keeps them."""

import pytest

from lab.analysis.hysteresis import CONDUCTS
from lab.files.documents import read, write_json
from lab.leaderboard import HYSTERESIS, recovery
from lab.leaderboard.recovery import Recovery
from lab.results.comparison import ComparisonResult
from lab.results.study import Simulation, StudyResult
from lab.spec.experiment import changed, load_spec
from tests.lab.leaderboard.test_hysteresis import run

BOARD = changed(
    load_spec("leaderboard"),
    policy=[{"name": "sq"}, {"name": "static-stages"}, {"name": "aimd"}],
    repetitions=2,
)
VERSIONS = {"doorbuster": "this one"}


@pytest.mark.parametrize(
    ("found", "words", "mean"),
    [
        (Recovery("live", (10.0, 20.0)), "15 ± 64", 15.0),
        (Recovery("live", (10.0, None)), "10; never in 1 of 2", None),
        (Recovery("live", (None, None)), "never", None),
        (Recovery("live", (0.0,), was_normal=False), "not normal before", None),
    ],
)
def test_a_row_says_how_soon_it_recovers(tmp_path, found, words, mean):
    assert (found.words, found.mean) == (words, mean)
    path = tmp_path / "recovery.json"
    write_json(path, {"sq": found.as_json()})
    assert read(path, dict[str, Recovery]) == {"sq": found}


def hysteresis_report(results, versions=VERSIONS, quick=False):
    """A report of which SQ and AIMD are simulated; AIMD recovers, SQ does not."""
    store = StudyResult.create(
        results, HYSTERESIS, {"paper": HYSTERESIS, "versions": versions, "quick": quick}
    )
    for key, after in (("sq", [30.0] * 60), ("aimd", [9.0] * 4 + [1.0] * 60)):
        case = recovery.case_of(BOARD, CONDUCTS[0], key, quick=quick)
        for seed in (1, 2):
            store.keep(Simulation(case, seed), run(*after))


def board(results):
    facts = {"machine": {}, "versions": VERSIONS, "capacity": {}}
    return ComparisonResult.create(results, BOARD, facts, [])


@pytest.mark.parametrize("quick", [True, False])
def test_a_simulated_board_takes_them_from_the_report_on_hysteresis(tmp_path, quick):
    """Steps of the ablation have none; what was found stays when the report is gone."""
    hysteresis_report(tmp_path, quick=quick)
    folder = board(tmp_path)
    found = recovery.gather(folder)
    assert {key: one.words for key, one in found.items()} == {"sq": "never", "aimd": "5 ± 0"}
    assert recovery.is_complete(found, BOARD)
    assert [row[0] for row in recovery.table(BOARD, found).rows] == ["AIMD", "SQ"]
    for file in tmp_path.glob(f"*{HYSTERESIS}*/reproduction.json"):
        file.unlink()
    assert recovery.gather(folder) == found


def test_a_report_of_another_version_does_not_count(tmp_path):
    hysteresis_report(tmp_path, versions={"doorbuster": "another"})
    assert recovery.gather(board(tmp_path)) == {}


def test_the_live_rush_has_the_rows_and_seeds_of_its_board():
    live = load_spec("live-leaderboard")
    rush = recovery.rush_of(live)
    assert [one.key for one in rush.policy] == [one.key for one in live.policy]
    assert (rush.seed, rush.repetitions, rush.abandonment) == (live.seed, 5, live.abandonment)
    assert [step.rho for step in rush.load.schedule] == [0.9, 3.0, 0.9]
    assert not rush.leaderboard
