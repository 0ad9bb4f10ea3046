from dataclasses import replace

import pytest

from lab.studies.connection_sentry.cases import PAPER_PROFILE, SCALES, Cases, Cell
from lab.studies.connection_sentry.measures import client_metrics, page_levels, shop_tasks
from lab.studies.measures import simulate_case
from tests.lab.attempt_tables import table

CASES = Cases(replace(SCALES["live"][True], duration_s=120.0, warm_up_s=20.0), "live")
CASE = CASES.run(Cell(2, 7.5), "X")
"""Two clients in each set, 120 s, the first 20 s left out."""

# Clients 0 and 1 are the control set.
ATTEMPTS = table(
    (0, 0, "Br-1", 1, 5.0, 1.0, "completed"),  # before the warm-up ends
    (0, 1, "Br-3", 1, 20.0, 4.0, "completed"),
    (0, 2, "Br-3", 1, 30.0, 8.0, "completed"),
    (0, 3, "file", 1, 50.0, 0.5, "completed"),
    (0, 4, "file", 1, 15.0, 9.0, "completed"),  # begun in the warm-up, answered after it
    (1, 0, "Br-3", 1, 110.0, 15.0, "completed"),  # begun in time, answered after the end
    (1, 1, "Br-1", 1, 40.0, 0.0, "dropped"),
    (2, 0, "Br-1", 1, 30.0, 0.1, "completed"),  # of the test set
    (3, 0, "Br-1", 1, 30.0, 7.0, "timed_out"),
)
SAMPLES = {
    # Nothing comes before 12 s: the clients are being started.
    "time_s": [0.0, 10.0, 12.0, 32.0, 52.0, 72.0, 132.0, 140.0],
    "arrived_total": [500, 500, 510, 520, 540, 560, 600, 600],
    "waiting": [0, 0, 0, 2, 4, 6, 100, 0],
    "in_service": [0, 0, 1, 3, 5, 7, 100, 0],
}


def test_the_control_set_is_counted_by_class():
    found = client_metrics(ATTEMPTS, SAMPLES, {"wasted_cpu_s": 1.0}, CASE.run)
    assert found["measured_s"] == 100
    assert found["waste"] == {"wasted_cpu_s": 1.0}
    classes = found["classes"]
    # Whoever is answered late has waited all the same, but was not served within the run. Served
    # within it, but not measured how long: who asked before it.
    assert classes["search"] == {"asked": 3, "answered": 2, "latency_s": pytest.approx(9.0)}
    assert classes["home"] == {"asked": 1, "answered": 0, "latency_s": None}
    assert classes["file"] == {"asked": 1, "answered": 2, "latency_s": pytest.approx(0.5)}
    assert classes["browse"] == {"asked": 0, "answered": 0, "latency_s": None}


def test_a_wait_in_the_queue_is_littles():
    found = page_levels(SAMPLES, 20.0, 120.0)
    # From 20 s after the first arrival (between 10 and 12 s) to 120 s after it: 32, 52 and 72 s.
    assert found["waiting"] == 4
    assert found["in_service"] == 5
    assert found["queue_s"] == pytest.approx(4 * 40 / 40)


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_too_few_samples_say_nothing(rows):
    short = {name: values[:rows] for name, values in SAMPLES.items()}
    assert set(page_levels(short, 20.0, 120.0).values()) == {None}


def test_what_the_shop_says_of_its_pages_is_scaled_to_paper_time():
    def pages(served, execution_s, cpu_s, wait_s):
        page = {"served": served, "execution_s": execution_s, "cpu_s": cpu_s, "own_wait_s": wait_s}
        return {"pages": {"Br-1": page, "Br-2": dict.fromkeys(page, 7), "Tr-1": page}}

    before, after = pages(10, 1.0, 0.5, 0.25), pages(20, 3.0, 1.0, 1.25)
    home = {"build_s": 2.0, "cpu_s": 0.5, "database_s": 1.0, "other_s": 0.5}
    assert shop_tasks(before, after, CASE.run) == {"home": pytest.approx(home)}
    # Page work waits, too: what of it is the database's is not known.
    paper = CASES.run(PAPER_PROFILE, "X")
    found = shop_tasks(before, after, paper.run)["home"]
    assert found == {"build_s": 2.0, "cpu_s": 0.5, "database_s": None, "other_s": None}


def test_a_simulated_run_gives_the_same_metrics():
    case = Cases(SCALES["simulated"][True], "simulated").run(Cell(2, 7.5), "S")
    task = {"case": case.with_(duration_s=200.0).as_json(), "seed": 1}
    found = simulate_case(task)
    assert found == simulate_case(task)
    assert found["measured_s"] == 140
    answered = {kind: each["answered"] for kind, each in found["classes"].items()}
    assert answered["file"] > answered["home"] > answered["browse"]
    assert 0.5 < found["classes"]["search"]["latency_s"] < 10
    assert 0 < found["busy"]["in_service"] < 4
    # Who is cancelled costs nothing afterwards, but did before.
    assert found["waste"]["wasted_cpu_s"] == pytest.approx(0.0, abs=1e-9)
    assert 0 < found["waste"]["unanswered_cpu_s"] < found["waste"]["server_cpu_s"]
    assert found["waste"]["disconnects"] == found["waste"]["interrupted"] > 0


def test_without_the_sentry_work_is_wasted():
    case = Cases(SCALES["simulated"][True], "simulated").run(Cell(4, 2.0), "X")
    waste = simulate_case({"case": case.with_(duration_s=200.0).as_json(), "seed": 1})["waste"]
    assert waste["wasted_cpu_s"] > 0.1 * waste["server_cpu_s"]
    assert waste["interrupted"] == waste["withdrawn"] == 0


def test_an_error_is_no_answer():
    failed = table((0, 1, "Br-3", 1, 20.0, 4.0, "failed"))
    found = client_metrics(failed, SAMPLES, {}, CASE.run)["classes"]["search"]
    assert found == {"asked": 1, "answered": 0, "latency_s": None}
