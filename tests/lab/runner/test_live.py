"""The command line against a real appliance: a small comparison, interrupted, resumed, drawn."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lab.runner import live
from loadgen.records.attempt_log import read_attempts
from runtime.settings import REPOSITORY
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)

SESSIONS = 500
"""Long enough, at this scale some seven real seconds, to be interrupted in the middle."""

COMPARE = (
    *("compare", "--policies", "8q-lifo-pri", "--abandonment", "ignore,cancel"),
    *("--rho", "1.5", "--sessions", str(SESSIONS)),
)
SCALE = ("--time-scale", "20")


def start(environment, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "doorbuster", *arguments],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def doorbuster(environment, *arguments):
    process = start(environment, *arguments)
    output, _ = process.communicate(timeout=240)
    return process.returncode, output


def result_of(environment, command, spec, tmp_path):
    """The folder and the output of a run or comparison of this spec, which ends well."""
    (tmp_path / "my.toml").write_text(spec)
    status, output = doorbuster(environment, command, str(tmp_path / "my.toml"))
    assert status == 0, output
    return folders(environment)[-1].parent, output


def folders(environment):
    return sorted(Path(environment["DOORBUSTER_RESULTS_DIR"]).glob("*/plan.json"))


def load_generators(environment):
    """Processes that send load to this appliance."""
    host = f"http://127.0.0.1:{environment['DOORBUSTER_GATEWAY_PORT']}"
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if "loadgen" in " ".join(command := process.info["cmdline"] or []) and host in command
    ]


@pytest.mark.long
def test_interrupt_resume_and_draw(appliance):
    before = folders(appliance)

    def begun():
        """Those of this test: others may have used the appliance."""
        return [path.parent for path in folders(appliance) if path not in before]

    kept = Path(appliance["DOORBUSTER_STATE_DIR"]) / "capacity-paper-20.json"
    kept.unlink(missing_ok=True)
    interrupted = start(appliance, *COMPARE, *SCALE)
    # While capacity is measured, which leaves a slow machine time enough to be refused.
    until(lambda: load_generators(appliance), within_s=200)
    status, output = doorbuster(appliance, *COMPARE, *SCALE)
    assert status == 1
    assert "Another live run holds this machine" in output

    until(lambda: begun() and list(begun()[0].glob("runs/*/loadgen.log")), within_s=200)
    assert until(lambda: load_generators(appliance), within_s=120)
    interrupted.send_signal(signal.SIGINT)
    output, _ = interrupted.communicate(timeout=240)
    assert interrupted.returncode == 130, output
    assert "repeat the command" in " ".join(output.split())
    assert "Interrupted" in output
    assert "Traceback" not in output
    assert load_generators(appliance) == []

    status, output = doorbuster(appliance, *COMPARE, *SCALE)
    assert status == 0, output
    assert "Resuming" in output
    assert "Counts reconcile in all 2 runs" in output
    assert "Table 4" in output
    assert "Table 5" in output
    (folder,) = begun()
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    assert "8Q-LIFO-Pri + cancel at ρ = 1.5, compared with ignoring that customers leave" in tables
    for figure in ("ccdf-br1-rho1.5", "throughput"):
        assert (folder / "figures" / f"{figure}.png").stat().st_size > 10_000
        assert "<svg" in (folder / "figures" / f"{figure}.svg").read_text(encoding="utf-8")

    runs = sorted((folder / "runs").iterdir())
    assert len(runs) == 2
    arrivals = []
    for run in runs:
        attempts = read_attempts(run / "attempts.parquet")
        first = attempts.filter(
            (attempts["step"].to_numpy() == 0) & (attempts["attempt"].to_numpy() == 1)
        )
        assert sorted(first["session"].to_pylist()) == list(range(SESSIONS))
        arrivals.append(first.sort_by("session")["intended_s"].to_pylist())
        samples = pq.read_table(run / "samples.parquet")
        assert samples.num_rows > 10
        assert max(samples["in_service"].to_pylist()) <= 30
        lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line)["event"] for line in lines]
        assert events == ["run started", "customers gone", "run ended"]
    assert arrivals[0] == arrivals[1]  # both met the same customers

    status, output = doorbuster(appliance, "results", "draw", str(folder))
    assert status == 0
    assert "Who sells" in output


ADMISSION = """
version = 1
title = "Admission in the gateway"
time_scale = 20
[[policy]]
name = "sq"
admission = "sbac-responsive"
admission_parameters = {ac_interval_s = 5, ac_threshold = 0.5}  # a busy machine reaches that too
[load]
rho = [3]
duration_s = 60
[customers]
think_time_mean_s = 1
lengths = {kind = "geometric", mean = 5}
"""


@pytest.mark.long
def test_admission_and_session_lengths(appliance, tmp_path):
    folder, output = result_of(appliance, "run", ADMISSION, tmp_path)
    assert "Counts reconcile in the one run" in output
    assert "SQ + SBAC responsive" in output
    assert json.loads((folder / "capacity.json").read_text())["lengths"] == "geometric-5"
    (run,) = (folder / "runs").iterdir()
    sessions = json.loads((run / "run.json").read_text())["sessions"]
    # About 3 × 5.6 / 5 sessions a second come, of which a third can be served; whoever comes in the
    # first of twelve ac-intervals is let in.
    assert 10 < sessions["arrived"] < 400
    assert 0 < sessions["rejected"] < sessions["arrived"]
    samples = pq.read_table(run / "samples.parquet").to_pydict()
    assert {True, False} <= set(samples["admits"])
    assert samples["rejected_total"][-1] - samples["rejected_total"][0] >= sessions["rejected"]
    attempts = read_attempts(run / "attempts.parquet")
    assert max(attempts["step"].to_pylist()) > 5
    assert set(attempts["page"].to_pylist()) == {"Br-1", "Br-2", "Br-4"}
    rejected = attempts.filter(pc.equal(attempts["outcome"], "rejected"))
    assert set(rejected["status"].to_pylist()) == {503}
    assert set(rejected["step"].to_pylist()) == {0}  # admitted sessions are never rejected


CLIENTS = """
version = 1
title = "Clients"
time_scale = 20
page_profile = "real"
catalogue_books = 6000
database_cpus = "shop"
warm_up_s = 10
[[policy]]
name = "sq"
abandonment = "cancel"
[clients]
per_set = 6
patience_max_s = 4
think_time_mean_s = 1
away_mean_s = 2
[load]
duration_s = 80
"""


@pytest.mark.long
def test_clients_in_a_closed_loop(appliance, tmp_path):
    folder, output = result_of(appliance, "run", CLIENTS, tmp_path)
    assert "Measuring" not in output
    assert "to 6,000 books" in output
    assert "Requests of clients by class" in output
    assert "Counts reconcile in the one run" in output
    assert json.loads((folder / "capacity.json").read_text())["origin"] == "none"
    (run,) = (folder / "runs").iterdir()
    assert run.name == "001-sq+cancel-seed1"
    summary = json.loads((run / "run.json").read_text())
    assert summary["counts"]["after"]["shop"]["books"] == 6000
    assert summary["load_generator"]["control_clients"] == 6
    attempts = read_attempts(run / "attempts.parquet").to_pydict()
    assert set(attempts["session"]) == set(range(12))
    assert {"Br-1", "Br-3", "file"} <= set(attempts["page"])
    left = [
        client
        for client, outcome in zip(attempts["session"], attempts["outcome"], strict=True)
        if outcome == "timed_out"
    ]
    assert all(client >= 6 for client in left)
    assert not list((folder / "figures").glob("*"))
    status, output = doorbuster(appliance, "results", "draw", str(folder))
    assert status == 0, output


@pytest.mark.long
def test_capacity_is_kept(appliance):
    # Two seconds each; at this scale a page is more the shop's own work than what it is told.
    status, output = doorbuster(appliance, "capacity", "--time-scale", "100")
    assert status == 0, output
    kept = json.loads(Path(output.split("Kept in ")[1].strip()).read_text())
    assert len(kept["measurements_rps"]) == 3
    assert sorted(kept["measurements_rps"])[1] == kept["median_rps"]
    # 30 workers on one CPU: 5.6 requests per paper second would be ideal.
    assert 0 < kept["median_rps"] < 6.5


@pytest.mark.parametrize("command", [COMPARE, ("reproduce", "connection-sentry", "--quick")])
def test_without_an_appliance_the_mend_is_named_and_nothing_left_behind(command, tmp_path):
    environment = {
        **os.environ,
        "DOORBUSTER_GATEWAY_ADMIN_PORT": "1",
        "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results"),
    }
    status, output = doorbuster(environment, *command)
    assert status == 1
    assert "make up" in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


@pytest.mark.long
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_runner_that_is_ended_leaves_no_load_behind(appliance, sign):
    runner = start(appliance, "capacity", *SCALE)
    until(lambda: load_generators(appliance), within_s=240)
    runner.send_signal(sign)
    output, _ = runner.communicate(timeout=240)
    until(lambda: not load_generators(appliance), within_s=120)
    assert runner.returncode == (130 if sign == signal.SIGTERM else -sign)
    assert "Traceback" not in output


def test_the_progress_of_a_capacity_measurement_ends_at_its_last_measurement(tmp_path, monkeypatch):
    told = []

    def measure(shops, spec, *, on_progress):
        for _ in range(live.measuring.MEASUREMENTS):
            on_progress("measured")

    monkeypatch.setattr(live.measuring, "measure", measure)
    monkeypatch.setattr(
        live.progress_file, "tell", lambda *, now=False, **facts: told.append(facts["done_ratio"])
    )
    spec = SimpleNamespace(title="Several shops", time_scale=10.0)
    live.measure_capacity(spec, SimpleNamespace(state_dir=tmp_path), [object(), object()])
    assert told == [0.0, 0.25, 0.5, 0.75, 1.0]
