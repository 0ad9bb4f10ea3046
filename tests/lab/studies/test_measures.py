import math

import pytest

from lab.studies import PAGE_METRICS
from lab.studies.measures import simulate_case
from loadgen.records.attempt_log import read_attempts
from loadgen.workload.sessions import SessionLengths, SessionModel
from simulator.scenario import FifoServer, FileClass
from tests.lab.studies.small import small_case, small_policy

ENDLESS = SessionModel(timeout_s=math.inf, lengths=SessionLengths("geometric", 3))


def simulate(case, seed=1, **more):
    return simulate_case({"case": case.as_json(), "seed": seed, **more})


def test_the_same_task_gives_the_same_metrics():
    assert simulate(small_case()) == simulate(small_case())
    assert simulate(small_case()) != simulate(small_case(), seed=2)


def test_every_session_is_counted_once():
    found = simulate(small_case(2.0, policy=small_policy(admission="sbac-responsive")))
    fates = ("rejected", "completed", "aborted", "unfinished")
    assert found["sessions"] == sum(found[fate] for fate in fates)
    assert all(found[fate] for fate in fates)
    assert sum(found["bins"]) == found["sessions"] == found["kinds"][0]["sessions"]
    assert sum(found["completed_bins"]) == found["completed"] == found["kinds"][0]["completed"]
    assert found["kinds"][0]["admitted"] == found["sessions"] - found["rejected"]
    assert 0 < found["rejection_busy_s"] < found["busy_s"] <= 30.0 + 1e-9


def test_an_empty_server_loses_nobody_and_all_its_work_is_useful():
    found = simulate(small_case(0.05, stop_s=None, customers=ENDLESS))
    assert found["completed"] == found["sessions"] > 0
    assert found["completed_length"] == found["length"]
    assert found["useful_busy_s"] == pytest.approx(found["busy_s"])
    assert found["served"] == found["requests"] == sum(found["attempts"].values())


# One file of one size: each request takes exactly 1.25 s of a server that is free.
ONE_FILE = {
    "server": FifoServer(0.8, (FileClass(1.0, 100.0, 100.0),)),
    "capacity_rps": 0.8,
    "customers": SessionModel(
        timeout_s=1.7,
        think_timeout_mean_s=0.0,
        retry_probability=0.0,
        lengths=SessionLengths("geometric", 1),
    ),
    "stop_s": None,
    "measure": PAGE_METRICS,
}


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
