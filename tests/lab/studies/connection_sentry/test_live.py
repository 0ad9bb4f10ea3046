"""The clients against a real appliance, for a few seconds, read as the reproduction reads them."""

import subprocess
import sys
from dataclasses import replace

import pytest

from lab.files.documents import read_json
from lab.report.claims import Claim
from lab.report.page import write_report
from lab.report.study_figures import Study
from lab.results.comparison import ComparisonResult
from lab.results.study import StudyResult
from lab.runner.study import Options, simulate_missing
from lab.spec.experiment import Spec, read_spec
from lab.studies.connection_sentry import live as connection_sentry_live
from lab.studies.connection_sentry.cases import HEAVIEST, SCALES, Cases, Cell
from lab.studies.connection_sentry.study import STUDY
from lab.studies.live import LivePart, read_results, simulations_of
from lab.studies.measures import simulate_case
from runtime.settings import REPOSITORY
from tests.lab.studies.small import small_case

CASES = Cases(replace(SCALES["live"][True], duration_s=80.0, warm_up_s=0.0), "live")
CELL = Cell(6, 2.0)


def small_spec():
    """On the catalogue and the CPUs that the appliance of the tests has."""
    plain = connection_sentry_live.spec(CASES, CELL, seed=1, repetitions=1).plain()
    return Spec.model_validate({**plain, "catalogue_books": None, "database_cpus": "other"})


def test_a_cell_is_a_comparison_of_both_modes():
    spec = connection_sentry_live.spec(CASES, HEAVIEST, seed=3, repetitions=2)
    assert [(choice.key, spec.abandonment_of(choice)) for choice in spec.policy] == [
        ("X", "ignore"),
        ("S", "cancel"),
    ]
    assert (spec.page_profile, spec.database_cpus) == ("real", "shop")
    assert spec.catalogue_books > 4309
    assert (spec.clients.per_set, spec.clients.patience_max_s) == (9, 7.5)
    assert (spec.load.duration_s, spec.warm_up_s, spec.seed, spec.repetitions) == (80, 0, 3, 2)
    assert read_spec(spec.to_toml(), "spec") == spec


def test_the_small_catalogue_comes_first_and_the_large_one_once():
    parts = connection_sentry_live.parts(STUDY.cases_of("live", quick=True), 1, 2)
    sizes = [part.spec.catalogue_books for part in parts]
    assert sizes[0] is None
    assert len(set(sizes[1:])) == 1


def test_what_no_run_gives_is_simulated_once(tmp_path):
    store = StudyResult.create(tmp_path, "report", {})
    drawn, other = small_case(2.0), small_case(0.3)
    live_case = CASES.run(CELL, "X")
    study = Study(
        "p", "t", (), [], [Claim("", "", [drawn, other, live_case], lambda _: ("", True))]
    )
    both = {"X": live_case, "S": drawn}
    part = LivePart(small_spec(), lambda planned: both[planned.policy], lambda *_: {})
    simulated = simulations_of(study, [part], seed=1, repetitions=2)
    assert [(one.case, one.seed) for one in simulated] == [(other, 1), (other, 2)]
    options = Options(simulate_case)
    simulate_missing(store, store.missing(simulated), options)
    found = store.results(simulated).of(other)
    assert len(found) == 2
    files = {file: file.stat().st_mtime_ns for file in store.simulations.iterdir()}
    assert store.missing(simulated) == []
    simulate_missing(store, store.missing(simulated), options)
    assert {file: file.stat().st_mtime_ns for file in store.simulations.iterdir()} == files


@pytest.mark.timeout(600)
@pytest.mark.long
def test_what_real_clients_leave_is_read_as_the_report_shows_it(appliance, tmp_path):
    spec = small_spec()
    file = tmp_path / "spec.toml"
    file.write_text(spec.to_toml())
    made = subprocess.run(
        [sys.executable, "-m", "doorbuster", "run", str(file)],
        cwd=REPOSITORY,
        env={**appliance, "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results")},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    (path,) = (tmp_path / "results").glob("*/plan.json")
    folder = ComparisonResult.open(path.parent)
    part = LivePart(
        spec,
        lambda planned: CASES.run(CELL, planned.policy),
        lambda run, case, capacity_rps: connection_sentry_live.metrics(run, case),
    )
    results = read_results([part], [folder])
    (without,), (with_,) = (results.of(CASES.run(CELL, mode)) for mode in "XS")
    for metrics in (without, with_):
        assert metrics["measured_s"] == 80
        # However slow the machine: who asks waits for the answer.
        classes = metrics["classes"].values()
        assert sum(each["asked"] for each in classes) > 0
        assert all(each["latency_s"] > 0 for each in classes if each["asked"])
        assert all(each["answered"] <= each["asked"] for each in classes)
        assert metrics["tasks"].keys() <= {"home", "browse", "search", "select"}
        assert all(0 < each["cpu_s"] <= each["build_s"] for each in metrics["tasks"].values())
        assert metrics["waste"]["server_cpu_s"] > metrics["waste"]["unanswered_cpu_s"] >= 0
        assert metrics["waste"]["disconnects"] >= metrics["waste"]["interrupted"]
    assert without["waste"]["interrupted"] == without["waste"]["cancels_attempted"] == 0

    store = StudyResult.create(tmp_path, "report", {})
    page = write_report(STUDY.report(CASES), results, store, [("Command", "test")])
    assert "Where cancelling does not help" in page.read_text()
    # Of the paper's own cells nothing was run.
    assert {row["Holds"] for row in read_json(store.path / "claims.json")} == {"not decided"}
