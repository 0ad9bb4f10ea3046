import json

import numpy as np
import pytest

from gateway.policies.admission import Combination
from lab.engines.capacity import computed
from lab.engines.samples import SCHEMA
from lab.engines.simulated.run import scenario_of
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.runner.comparison import plan
from lab.runner.simulated import make_packed_run, make_simulated_run
from lab.spec.experiment import Spec, changed
from lab.spec.runs import ShopRun, server_of
from loadgen.records.attempt_log import AttemptLog, read_metadata
from simulator.scenario import FifoServer, SharedCpus
from simulator.simulation import simulate

SPEC = changed(
    Spec(), engine="simulated", policy=[{"name": "sq"}], load__sessions=300, load__rho=[2.0]
)
GUARDED = changed(
    SPEC,
    policy=[{"name": "sq", "admission": "sbac-responsive"}],
    customers__lengths={"kind": "geometric", "mean": 5},
)
FIFO = Spec(
    engine="simulated",
    policy=[{"name": "sq", "parameters": {"capacity": 40}, "label": "listen queue"}],
    load={"rho": [3], "duration_s": 20},
    customers={"timeout_s": 1, "think_timeout_mean_s": 0, "lengths": {"mean": 5}},
    server={"kind": "fifo", "capacity_rps": 50, "rejection_cost": 0.5},
)


def run_of(spec):
    """The run of the first policy at the first load."""
    return ShopRun.of_spec(spec, spec.policy[0].key, spec.load.rhos[0])


def made(spec, tmp_path):
    folder = RunFolder(tmp_path / "run")
    ended = []
    (planned, *_) = plan(spec)
    summary = make_simulated_run(run_of(spec), planned.seed, folder, ended.append)
    return folder, summary


@pytest.mark.parametrize("abandonment", ["ignore", "drop-queued", "cancel"])
@pytest.mark.parametrize("spec", [SPEC, GUARDED, FIFO], ids=["chain", "guarded", "fifo"])
def test_customers_driver_and_server_agree(spec, abandonment, tmp_path):
    folder, summary = made(changed(spec, abandonment=abandonment), tmp_path)
    assert [check for check in summary.checks if not check.holds] == []
    assert summary.reconciles
    assert summary == folder.summary()


CLOSED = Spec(
    engine="simulated",
    policy=[{"name": "sq"}],
    clients={"per_set": 4, "patience_max_s": 2, "think_time_mean_s": 0.5, "away_mean_s": 1},
    load={"duration_s": 60},
)


@pytest.mark.parametrize("abandonment", ["ignore", "drop-queued", "cancel"])
def test_clients_driver_and_server_agree(abandonment, tmp_path):
    spec = changed(CLOSED, abandonment=abandonment)
    folder = RunFolder(tmp_path / "run")
    summary = make_simulated_run(run_of(spec), 1, folder, lambda ended: None)
    assert [check for check in summary.checks if not check.holds] == []
    assert any(check.statement.startswith("file: ") for check in summary.checks)
    assert summary.sessions is None
    metadata = read_metadata(folder.attempts_file)
    assert metadata["control_clients"] == 4
    assert metadata["clients"] == spec.clients.as_model().parameters()
    assert summary.waste["disconnects"] > 0
    assert (summary.waste["interrupted"] > 0) is (abandonment == "cancel")
    assert (summary.waste["wasted_cpu_s"] > 0) is (abandonment != "cancel")


def test_abandonment_is_that_of_the_policy(tmp_path):
    spec = changed(SPEC, policy=[{"name": "sq"}, {"name": "sq", "abandonment": "cancel"}])
    found = {
        choice.key: scenario_of(ShopRun.of_spec(spec, choice.key, 2.0), 1).abandonment
        for choice in spec.policy
    }
    assert found == {"sq": "ignore", "sq+cancel": "cancel"}


def test_a_run_in_which_nobody_comes_is_an_error_for_people(tmp_path):
    with pytest.raises(ExperimentError, match="load: no session arrives"):
        made(changed(SPEC, load__duration_s=1e-6), tmp_path)


def test_the_folder_is_that_of_a_live_run(tmp_path):
    folder, summary = made(GUARDED, tmp_path)
    assert summary.load_generator.engine == "simulated"
    assert read_metadata(folder.attempts_file) == summary.as_json()["load_generator"]
    assert folder.samples().schema.equals(SCHEMA)
    samples = folder.samples().to_pydict()
    assert samples["admits"][0] is True
    assert False in samples["admits"]
    assert samples["admitted_total"][-1] == summary.sessions.arrived - summary.sessions.rejected
    lines = folder.events_file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["run started", "run ended"]


def test_a_run_without_admission_has_nulls_for_it(tmp_path):
    folder, _ = made(SPEC, tmp_path)
    assert set(folder.samples().column("admits").to_pylist()) == {None}


def test_a_packed_run_is_the_same_run(tmp_path):
    folder, summary = made(SPEC, tmp_path)
    planned = plan(SPEC)[0]
    task = {"run": run_of(SPEC).as_json(), "seed": planned.seed, "own": []}
    other = RunFolder(tmp_path / "other")
    size_bytes = other.unpack(make_packed_run(json.loads(json.dumps(task)))["files"])
    assert other.summary() == summary
    assert other.attempts().equals(folder.attempts())
    assert size_bytes == sum(file.stat().st_size for file in other.path.iterdir())


def test_the_summary_has_the_load_of_arrivals_by_a_formula(tmp_path):
    """run.json, the events and the log of a run with a formula name the spec's ρ."""
    load = {"rho": [1.3], "duration_s": 40, "arrivals": {"formula": "1 + t"}}
    folder, summary = made(changed(SPEC, load=load), tmp_path)
    assert summary.rho == 1.3
    assert next(iter(folder.events()))["rho"] == 1.3
    assert read_metadata(folder.attempts_file)["rho"] == 1.3


def test_unpacking_replaces_what_was_left(tmp_path):
    folder, _ = made(SPEC, tmp_path)
    files = folder.pack()
    (folder.path / "loadgen.log").write_text("of another time")
    folder.unpack(files)
    assert not (folder.path / "loadgen.log").exists()
    assert folder.is_whole


def test_the_scenario_is_what_the_spec_says():
    spec = changed(
        GUARDED,
        server={"workers": 10, "cpus": 2},
        abandonment="cancel",
        utilisation_interval_s=5,
        load__duration_s=100,
        customers__think_time_mean_s=3,
    )
    scenario = scenario_of(run_of(spec).with_(capacity_rps=11.0), 7)
    assert scenario.server == SharedCpus(workers=10, cpus=2)
    assert isinstance(scenario.policy, Combination)
    assert (scenario.seed, scenario.sessions, scenario.arrivals_until_s) == (7, None, 100)
    assert (scenario.abandonment, scenario.utilisation_interval_s) == ("cancel", 5)
    assert scenario.session_known_from == "answer"
    assert scenario.customers.session_rate == pytest.approx(2.0 * 11 / 5)
    assert scenario.customers.model.think_time_mean_s == 3


def test_a_schedule_brings_its_own_loads():
    spec = changed(
        SPEC, load={"schedule": [{"duration_s": 50, "rho": 1}, {"duration_s": 50, "rho": 3}]}
    )
    scenario = scenario_of(run_of(spec).with_(capacity_rps=5.6), 1)
    assert spec.load.offered(1.0) == run_of(spec).offered_rho == 2.0
    assert scenario.customers.session_rate == pytest.approx(5.6 / 2.397, rel=1e-3)
    log = AttemptLog()
    arrived_s = np.asarray(simulate(scenario, log=log).sessions.arrived_s)
    assert arrived_s.max() < 100
    assert 2 < (arrived_s >= 50).sum() / (arrived_s < 50).sum() < 4.5


def test_fifo_is_the_server_of_sbac():
    assert server_of(FIFO) == FifoServer(capacity_rps=50, rejection_cost=0.5)
    scenario = scenario_of(run_of(FIFO), 1)
    assert scenario.session_known_from == "admission"
    assert computed(FIFO).median_rps == 50
    assert computed(FIFO).lengths == "geometric-5"


def test_the_capacity_of_shared_cpus_follows_from_their_description():
    # 1 CPU / (0.714 of a mean execution of 0.2501 s); LIFO-Pri measured 5.6 requests/s.
    assert computed(SPEC).median_rps == pytest.approx(1 / (0.714 * 0.2501), 1e-3)
    intensive = changed(SPEC, page_profile="cpu")
    assert server_of(intensive).busy_ratio == 1
    assert computed(intensive).median_rps == pytest.approx(1 / 0.3)
    one_worker = changed(SPEC, server={"workers": 1})
    assert computed(one_worker).median_rps == pytest.approx(1 / 0.2501, 1e-3)
