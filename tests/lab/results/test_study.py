from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.errors import ExperimentError
from lab.results.metrics import Results
from lab.results.study import Simulation, StudyResult, plan
from tests.lab.studies.small import small_case

FACTS = {"paper": "small", "seed": 1}


def test_a_plan_has_each_case_once_a_repetition_and_the_longest_first():
    short, long_ = small_case(duration_s=10.0), small_case(duration_s=20.0)
    planned = plan([short, long_, small_case(duration_s=10.0)], seed=5, repetitions=2)
    assert [(one.case.id, one.seed) for one in planned] == [
        (long_.id, 5), (short.id, 5), (long_.id, 6), (short.id, 6),
    ]  # fmt: skip


def test_results_come_back_by_case_in_the_order_of_seeds(tmp_path):
    store = StudyResult.create(tmp_path, "small", FACTS)
    case, other = small_case(), small_case(3.0)
    simulations = [Simulation(case, 2), Simulation(case, 1), Simulation(other, 1)]
    store.keep(simulations[0], {"n": 20})
    store.keep(simulations[1], {"n": 10})
    results = store.results(simulations)
    assert [one["n"] for one in results.of(case)] == [10, 20]
    assert results.of(other) == ()
    estimate = results.estimate(case, lambda metrics: metrics["n"])
    assert estimate.mean == 15
    assert estimate.half_width > 0
    assert results.estimate(other, lambda metrics: metrics["n"]) is None
    assert results.mean(case, lambda metrics: None) is None


def test_runs_of_two_cases_are_paired_by_seed():
    one, other = small_case(), small_case(3.0)
    runs = [(one, 2, {"n": 2}), (other, 1, {"n": 10}), (one, 1, {"n": 1}), (one, 3, {"n": 3})]
    results = Results.of_runs(runs)
    assert [each["n"] for each in results.of(one)] == [1, 2, 3]
    assert {
        seed: tuple(each["n"] for each in pair)
        for seed, pair in results.together(one, other).items()
    } == {1: (1, 10)}


def test_a_metric_by_seed_lacks_missing_values():
    """Repetitions without the metric are left out, so that differences pair known values."""
    case = small_case()
    results = Results.of_runs(
        [(case, 2, {"n": 2.0}), (case, 1, {"n": None}), (case, 3, {"n": 0.0})]
    )
    assert results.by_seed(case, lambda metrics: metrics["n"]) == {2: 2.0, 3: 0.0}


def test_only_a_folder_of_the_same_facts_without_a_report_is_resumed(tmp_path):
    store = StudyResult.create(tmp_path, "small", FACTS)
    assert StudyResult.unfinished(tmp_path, FACTS).path == store.path
    assert StudyResult.unfinished(tmp_path, {**FACTS, "seed": 2}) is None
    store.report_file.write_text("done")
    assert StudyResult.unfinished(tmp_path, FACTS) is None


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_a_damaged_folder_is_passed_over(tmp_path, content):
    store = StudyResult.create(tmp_path, "small", FACTS)
    (store.path / "reproduction.json").write_text(content)
    assert StudyResult.unfinished(tmp_path, FACTS) is None


def test_experiments_of_the_same_second_have_separate_folders(tmp_path):
    def create(seed):
        return StudyResult.create(tmp_path / "results", "small", {**FACTS, "seed": seed})

    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(create, range(24)))
    assert len({store.path for store in stores}) == 24
    assert [store.facts()["seed"] for store in stores] == list(range(24))


def test_a_place_that_cannot_be_written_is_an_error_for_people(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExperimentError, match="DOORBUSTER_RESULTS_DIR"):
        StudyResult.create(tmp_path / "file", "small", FACTS)
