"""Two shops at the same time over the same customers, on a real appliance."""

import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from lab.spec.shop_cpus import most_shops
from loadgen.records.attempt_log import read_attempts
from runtime.settings import load
from tests.lab.runner.test_live import doorbuster, folders, start
from tests.waiting import until

pytestmark = pytest.mark.timeout(1800)

SPEC = """
version = 1
title = "Side by side"
at_once = "crowded"
time_scale = 8
catalogue_books = 1000
[[policy]]
name = "sq"
[[policy]]
name = "8q-lifo-pri"
admission = "sbac-responsive"
abandonment = "cancel"
[load]
rho = [1.4]
sessions = 150
"""


def shops(environment):
    """Return the processes of shops other than the appliance's."""
    found = []
    for process in psutil.process_iter(["environ"]):
        given = process.info["environ"] or {}
        mine = given.get("DOORBUSTER_STATE_DIR") == environment["DOORBUSTER_STATE_DIR"]
        if mine and given.get("DOORBUSTER_SHOP_SCHEMA", "").startswith("race_"):
            found.append(process)
    return found


def cpus_of_the_rest(environment):
    """By name: where the appliance's programs but its shop may run."""
    pid = int((Path(environment["DOORBUSTER_STATE_DIR"]) / "postgres/data/postmaster.pid")
              .read_text().split()[0])  # fmt: skip
    return os.sched_getaffinity(pid)


@pytest.mark.long
def test_two_shops_see_the_same_customers_at_the_same_moment(appliance, tmp_path):
    before = cpus_of_the_rest(appliance)
    (tmp_path / "my.toml").write_text(SPEC)
    runner = start(appliance, "compare", str(tmp_path / "my.toml"))
    output, _ = runner.communicate(timeout=1500)  # a minute and a half where nobody else works
    assert runner.returncode == 0, output
    assert "Counts reconcile in all 2 runs" in output
    assert "2 shops ran at the same time" in output
    assert ("CROWDED" in output) == (most_shops(load(appliance)) < 2)
    folder = folders(appliance)[-1].parent
    capacity = json.loads((folder / "capacity.json").read_text())
    assert len(capacity["shops_rps"]) == 2
    assert len(capacity["measurements_rps"]) == 6

    runs = sorted((folder / "runs").iterdir())
    assert len(runs) == 2
    summaries = [json.loads((run / "run.json").read_text()) for run in runs]
    assert {summary["at_once"]["shop"] for summary in summaries} == {1, 2}
    began = [summary["load_generator"]["started_at"] for summary in summaries]
    ended = [summary["load_generator"]["ended_at"] for summary in summaries]
    assert max(began) < min(ended)  # none has waited for the other's end
    customers = []
    for run in runs:
        attempts = read_attempts(run / "attempts.parquet").to_pylist()
        planned = {
            (row["session"], row["step"]): row["page"] for row in attempts if row["attempt"] <= 1
        }
        arrivals = {
            row["session"]: (row["intended_s"], row["patience_s"])
            for row in attempts
            if row["step"] == 0 and row["attempt"] == 1
        }
        customers.append((planned, arrivals))
        assert not (run / "live-shop.json").exists()
        lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line)["event"] for line in lines]
        assert events == ["run started", "customers gone", "run ended"]
    assert customers[0] == customers[1]
    assert customers[0][1].keys() == set(range(150))
    assert shops(appliance) == []
    assert cpus_of_the_rest(appliance) == before


CLIENTS = """
version = 1
title = "Ended"
at_once = "crowded"
time_scale = 10
catalogue_books = 1000
[[policy]]
name = "sq"
[[policy]]
name = "always-lifo"
[clients]
per_set = 3
[load]
duration_s = 20000
"""


@pytest.mark.long
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_race_that_is_ended_leaves_nothing_running(appliance, tmp_path, sign):
    (tmp_path / "my.toml").write_text(CLIENTS)
    runner = start(appliance, "compare", str(tmp_path / "my.toml"), "--fresh")
    until(lambda: list(folders(appliance)[-1:][0].parent.glob("runs/*/live-shop.json"))
               if folders(appliance) else [], within_s=240)  # fmt: skip
    assert len(shops(appliance)) >= 4
    children = psutil.Process(runner.pid).children(recursive=True)
    runner.send_signal(sign)
    output, _ = runner.communicate(timeout=240)
    assert runner.returncode == (130 if sign == signal.SIGINT else -sign), output
    assert "Traceback" not in output
    until(lambda: not [child for child in children if child.is_running()], within_s=240)
    until(lambda: not shops(appliance), within_s=240)


def test_too_few_cpus_are_refused_before_anything_is_asked(tmp_path):
    environment = {
        **os.environ,
        "DOORBUSTER_SHOP_CPUS": "0",
        "DOORBUSTER_OTHER_CPUS": "0",
        "DOORBUSTER_GATEWAY_ADMIN_PORT": "1",
        "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results"),
    }
    status, output = doorbuster(environment, "compare", "--at-once", "--policies", "sq,8q-af")
    assert status == 2
    assert output.startswith("Error: at_once: 2 shops of 1 CPU each")
    assert "one policy after the other" in output
    status, output = doorbuster(environment, "compare", "--crowded", "--in-turn")
    assert status == 2
    assert "--crowded: given together with --in-turn" in output
    assert not (tmp_path / "results").exists()
