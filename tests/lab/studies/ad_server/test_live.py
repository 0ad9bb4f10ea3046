"""`doorbuster reproduce ad-server` with a separate real ad server, few clients, few banners."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from lab.errors import ExperimentError
from lab.files.documents import read_json
from lab.machine import machine_lock
from lab.results.study import StudyResult
from lab.studies.ad_server import host as ad_server_host
from lab.studies.ad_server import live as ad_server_live
from lab.studies.ad_server.cases import Cases, Scale, planned_runs
from lab.studies.ad_server.claims import claims
from loadgen.customers.ad_clients import AdOrder
from loadgen.records.attempt_log import AttemptLog, read_attempts, read_metadata
from loadgen.records.attempts import Attempt
from runtime.settings import REPOSITORY
from tests.waiting import until

# The command on a grid of six cells; the published clients take minutes. Somebody may be editing
# code while the test runs: what was interrupted shall be resumed all the same.
SMALL = """
from doorbuster.commands import main
from lab.studies.ad_server import cases
from lab.studies import live

live.describe_versions = lambda: {"doorbuster": "as it is"}
cases.SCALES["live"][True] = cases.Scale((10, 100), (2, 3), (6,), 1, 30.0)
main(["reproduce", "ad-server", "--quick", "--banners", "2000"])
"""
PATIENCE_S = 400


@pytest.fixture
def folder():
    """For results, temporary files and the lock of live runs, of this test alone."""
    # Not pytest's temporary folder: as root that is closed to the user PostgreSQL runs under.
    with tempfile.TemporaryDirectory(prefix="doorbuster-test-ads-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def begun(folder):
    return subprocess.Popen(
        [sys.executable, "-c", SMALL],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "TMPDIR": str(folder),
            "DOORBUSTER_LIVE_RUN_LOCK": str(folder),
            "DOORBUSTER_RESULTS_DIR": f"{folder}/results",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def said_by(process):
    said, _ = process.communicate(timeout=PATIENCE_S)
    return said


def all_ended(processes):
    return not any(each.is_running() for each in processes)


@pytest.mark.long
@pytest.mark.timeout(1200)  # two servers are started, on a machine that may be busy
def test_interrupted_it_leaves_nothing_running_and_resumes_to_a_whole_report(folder):
    # A run or two, then Ctrl-C: as a terminal sends it, to the command's group alone.
    process = begun(folder)
    until(lambda: any(folder.glob("results/*/attempts/*.parquet")))
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 4  # PostgreSQL, Gunicorn and its worker, the clients
    os.killpg(process.pid, signal.SIGINT)
    said = said_by(process)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    until(lambda: all_ended(family))
    assert [path.name for path in folder.glob("doorbuster-ads-*")] == []
    [results] = (folder / "results").iterdir()
    done = {file: file.stat().st_mtime_ns for file in results.glob("attempts/*.parquet")}
    plan = read_json(results / "requests.json")

    # The plan is made once; shorten it, so that the rest takes seconds.
    plan["requests"] = dict.fromkeys(plan["requests"], 3)
    (results / "requests.json").write_text(json.dumps(plan))
    process = begun(folder)
    said = said_by(process)
    assert process.returncode == 0, said
    assert f"Resuming: {len(done)} of 6 runs are done." in said, said
    assert "claims hold" in said
    assert [path.name for path in (folder / "results").iterdir()] == [results.name]
    assert done.items() <= {file: file.stat().st_mtime_ns for file in done}.items()

    files = sorted((results / "attempts").iterdir())
    assert len(files) == 6
    first = results / "attempts" / "clients010-concepts03-threads6-seed1.parquet"
    assert first in files
    rows = read_attempts(first).to_pylist()
    assert {row["session"] for row in rows} == set(range(10))
    assert {row["page"] for row in rows} == {"low", "high"}
    assert {row["outcome"] for row in rows} == {"completed"}
    facts = read_metadata(first)
    run = facts["case"]["run"]
    assert [run[name] for name in ("kind", "banners", "concepts", "threads")] == [
        "ad-server", 2000, 3, 6,
    ]  # fmt: skip
    runs = [json.loads(line) for line in (results / "runs.jsonl").read_text().splitlines()]
    assert {line["run"] for line in runs} == {file.stem for file in files}
    page = (results / "report.html").read_text()
    for text in ("The clients had", "Other processes had", "published 300", "Table IV", "ideal"):
        assert text in page
    assert (results / "figures" / "figures-6-and-7.png").stat().st_size > 0
    assert {row["Holds"] for row in read_json(results / "claims.json")} <= {
        "yes", "no", "not decided",
    }  # fmt: skip


def test_it_waits_for_no_other_live_run(folder, monkeypatch):
    monkeypatch.setenv("DOORBUSTER_LIVE_RUN_LOCK", str(folder))
    given = {"quick": True, "seed": 1, "repetitions": None, "banners": 2000}
    study = ad_server_live.live_study(given)
    refused = pytest.raises(ExperimentError, match="Another live run holds this machine")
    with machine_lock.take(str(folder)), refused, study.ready():
        pass


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1", r"of \d+ requests to the ad server were not answered"),
        ("ftp://x", r"process ended: .*ftp://x"),
    ],
)
def test_clients_without_a_server_are_an_error_in_a_line_and_leave_no_attempts(tmp_path, url, said):
    order = AdOrder(2, 3, 1, 1, ("a", "b"), 1, str(tmp_path / "attempts.parquet"), {})
    with (
        ad_server_host.clients_process(url, tmp_path / "log") as clients,
        pytest.raises(ExperimentError, match=said),
    ):
        clients.play(order)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_what_the_runs_measured_decides_every_claim(tmp_path):
    cases = Cases(Scale((1, 10, 100), (2, 3, 10), (2, 3, 6, 8), 2, 60.0), cpus=2)
    runs = planned_runs(cases.scale, seed=1, repetitions=2)
    store = StudyResult.create(tmp_path, "small", {})
    store.attempts.mkdir()
    for run in runs:
        log = AttemptLog()
        for step, page in enumerate(("low", "high") * 3):
            ended_s = step + (1.0 if page == "low" else 0.5 + run.seed / 100)
            log.append(Attempt(0, step, page, 1, step, step, ended_s, 60.0, "completed", 200))
        log.write(store.attempts / f"{run.name}.parquet", {"requests": 6})
    results = ad_server_live.read_results(store, cases, runs)
    assert {
        metrics["seed"]: metrics["high"]["mean_s"]
        for metrics in results.of(cases.run(runs[0].cell))
    } == {1: pytest.approx(0.51), 2: pytest.approx(0.52)}
    for claim in claims(cases):
        assert claim.decide(results)[0] != "no runs yet"


def test_a_torn_line_of_how_runs_went_does_not_lose_the_report(tmp_path):
    told = '{"run": "one", "cpu_s": 1.0, "took_s": 2.0, "others_ratio": 0.25}\n'
    (tmp_path / "runs.jsonl").write_text(told + '{"run": "two", "cpu')
    runs = [SimpleNamespace(name=name) for name in ("one", "two")]
    shares = ad_server_live.shares_of(SimpleNamespace(path=tmp_path), runs, 2)
    assert (shares.clients, shares.others) == ([0.25], [0.25])
