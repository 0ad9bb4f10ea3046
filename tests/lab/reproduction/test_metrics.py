import math

import pytest

from lab.experiments.outcomes import Outcomes, SessionFates
from lab.experiments.reproduction import lifo_pri_values
from lab.experiments.reproduction.metrics import RESPONSE_EDGES_S, simulate_case
from loadgen.attempts import read_attempts
from tests.lab.reproduction.small import small_case


def simulate(case, seed=1, **more):
    return simulate_case({"case": case.as_json(), "seed": seed, **more})


def test_the_same_task_gives_the_same_metrics():
    assert simulate(small_case()) == simulate(small_case())
    assert simulate(small_case()) != simulate(small_case(), seed=2)


def test_every_session_is_counted_once():
    found = simulate(small_case(2.0, admission="sbac-responsive"))
    fates = ("rejected", "completed", "aborted", "unfinished")
    assert found["sessions"] == sum(found[fate] for fate in fates)
    assert all(found[fate] for fate in fates)
    assert sum(found["bins"]) == found["sessions"] == found["kinds"][0]["sessions"]
    assert sum(found["completed_bins"]) == found["completed"] == found["kinds"][0]["completed"]
    assert found["kinds"][0]["admitted"] == found["sessions"] - found["rejected"]
    assert 0 < found["rejection_busy_s"] < found["busy_s"] <= 30.0 + 1e-9


def test_an_empty_server_loses_nobody_and_all_its_work_is_useful():
    found = simulate(small_case(0.05, stop_s=None, customers={"timeout_s": math.inf}))
    assert found["completed"] == found["sessions"] > 0
    assert found["completed_length"] == found["length"]
    assert found["useful_busy_s"] == pytest.approx(found["busy_s"])
    assert found["served"] == found["requests"] == sum(found["attempts"].values())


# One file of one size: each request takes exactly 1.25 s of a server that is free.
ONE_FILE = {
    "server": {"kind": "fifo", "capacity_rps": 0.8, "file_classes": ((1.0, 100.0, 100.0),)},
    "capacity_rps": 0.8,
    "lengths": {"kind": "geometric", "mean": 1},
    "customers": {"timeout_s": 1.7, "think_timeout_mean_s": 0.0, "retry_probability": 0.0},
    "stop_s": None,
    "watched": "pages",
}


def test_metrics_by_page_can_be_checked_by_hand():
    # One may wait behind the one in service, as long as 0.45 s; who comes then is dropped.
    found = simulate(small_case(1.0, parameters={"capacity": 1}, duration_s=200.0, **ONE_FILE))
    outcomes = lifo_pri_values.outcomes(found)
    assert isinstance(outcomes, Outcomes)
    assert isinstance(outcomes.fates, SessionFates)
    assert outcomes.sessions == found["sessions"] == found["first_page_attempts"]
    answered = sum(found["first_page_response_counts"])
    assert answered == found["completed"]
    # Nobody is answered within the time that a request takes, nor after the timeout.
    assert lifo_pri_values.unanswered_percent(1.0)(found) == 100
    share = 100 * found["completed"] / found["sessions"]
    assert lifo_pri_values.unanswered_percent(2.0)(found) == pytest.approx(100 - share)
    assert lifo_pri_values.answered_between_percent(1.0, 2.0)(found) == pytest.approx(share)
    assert lifo_pri_values.outcome_percent("completed")(found) == pytest.approx(share)
    lost = sum(lifo_pri_values.outcome_percent(fate)(found) for fate in ("timed_out", "dropped"))
    assert lost == pytest.approx(100 - share)
    assert 1.249 <= found["response_mean_s"] <= found["response_max_s"] <= 1.7
    assert lifo_pri_values.mode_s([found]) == 1.5


def test_warm_up_leaves_early_sessions_out():
    case = small_case(0.2, duration_s=100.0, **ONE_FILE)
    whole, late = simulate(case), simulate(case.with_(warm_up_s=50.0))
    assert 0 < late["first_page_attempts"] < whole["first_page_attempts"]
    assert late["sessions"] == whole["sessions"]


def test_attempts_are_kept_when_asked_for(tmp_path):
    path = tmp_path / "attempts.parquet"
    found = simulate(small_case(stop_s=None), attempts_file=str(path))
    attempts = read_attempts(path)
    made = [number for number in attempts.column("attempt").to_pylist() if number > 0]
    assert len(made) == found["requests"]


def test_response_times_are_counted_in_half_seconds():
    assert RESPONSE_EDGES_S[1] - RESPONSE_EDGES_S[0] == 0.5
