"""Exit statuses and errors: 2 for invalid values, 1 for failures, one line each."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import psutil
import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.cli.experiment_options import with_options
from lab.results.comparison import ComparisonResult
from lab.runner.comparison import plan
from lab.spec.experiment import Spec, changed, load_spec
from runtime.settings import REPOSITORY
from tests.waiting import until

pytestmark = pytest.mark.slow


SMALL = ("--policies", "sq,8q-lifo-pri", "--rho", "1.4", "--sessions", "200", "--repetitions", "1")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results of the test's own, and no appliance."""
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    monkeypatch.setenv("DOORBUSTER_GATEWAY_ADMIN_PORT", "1")
    return tmp_path


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """The result of a small simulation, and what the command printed."""
    folder = tmp_path_factory.mktemp("simulated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOORBUSTER_RESULTS_DIR", str(folder))
        patch.setenv("DOORBUSTER_GATEWAY_ADMIN_PORT", "1")
        done = CliRunner().invoke(main, ["simulate", *SMALL])
    assert done.exit_code == 0, done.output
    (path,) = folder.glob("*")
    return path, done.output


@pytest.fixture
def result(results, simulated):
    """A copy of that result for one test, the only one there."""
    path, _ = simulated
    return ComparisonResult.open(shutil.copytree(path, results / path.name))


def doorbuster(*arguments):
    done = CliRunner().invoke(main, arguments)
    assert "Traceback" not in done.output
    return done.exit_code, done.stderr.strip()


@pytest.mark.parametrize(("command", "is_shown"), [("run", True), ("simulate", False)])
def test_only_commands_with_live_runs_show_their_options(command, is_shown):
    shown = CliRunner().invoke(main, [command, "--help"]).output
    for option in ("--gateway", "--at-once", "--crowded", "--time-scale"):
        assert (option in shown) is is_shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("compare --policies nope", ["--policies", "'nope' is unknown", "8q-lifo-pri"]),
        ("compare --admission nope", ["--admission", "'nope' is unknown", "sbac-responsive"]),
        ("compare --rho a,b", ["--rho", "allowed: numbers"]),
        ("compare --sessions x", ["--sessions", "integer"]),
        ("compare --sessions 5 --duration-s 5", ["--duration-s", "--sessions"]),
        ("compare --page-profile x", ["--page-profile", "'paper', 'cpu', 'real'"]),
        ("compare --full --spec sbac", ["--full", "--spec"]),
        ("compare lifo-pri --spec sbac", ["SPEC", "--spec"]),
        ("compare nowhere.toml", ["nowhere.toml", "connection-sentry"]),
        ("compare --abandonment nope", ["--abandonment", "ignore, drop-queued, cancel"]),
        ("compare --nope", ["--nope"]),
        ("compare --spec nowhere.toml", ["nowhere.toml", "No such file", "sbac-live"]),
        ("run", ["SPEC"]),
        ("run .", ["'.'", "Is a directory", "a TOML file"]),
        ("run lifo-pri --processes 2", ["--processes", "allowed: with simulated"]),
        ("run lifo-pri --celery redis://x", ["--celery", "allowed: with simulated"]),
        ("simulate --processes 0", ["--processes", "x>=1"]),
        ("simulate --sessions -1", ["--sessions: must be greater than or equal to 1 (given: -1)"]),
        ("simulate --rho 1.4,0", ["--rho: must be greater than or equal to 0.01 (given: 0.0)"]),
        ("simulate --page-profile real", ["--page-profile: ", "'paper' or 'cpu'"]),
        ("simulate sbac --page-profile paper", ["--page-profile: ", "leave it out"]),
        ("simulate --celery amqp://x", ["--celery", "redis://host:port/database"]),
        ("simulate --celery redis://h:port/1", ["broker", "redis://host:port/database"]),
        ("worker --broker nonsense", ["broker", "redis://host:port/database"]),
        ("results draw /nowhere", ["FOLDER", "plan.json"]),
        ("results publish x", ["unexpected extra argument (x)"]),
        ("simulate leaderbord", ["'leaderbord'", "leaderboard", "sbac-live"]),
        ("nope", ["nope"]),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(results, arguments, words):
    status, said = doorbuster(*arguments.split())
    assert status == 2
    assert len(said.splitlines()) == 1, said
    assert said.startswith("Error: ")
    assert [word for word in words if word not in said] == [], said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("compare", ["make up"]),
        ("capacity", ["make up"]),
        ("results draw", ["make compare"]),
        ("simulate --celery redis://127.0.0.1:1/1",
         ["No Redis answers", "DOORBUSTER_CELERY_BROKER"]),
        ("worker --broker redis://127.0.0.1:1/1", ["No Redis answers"]),
    ],
)  # fmt: skip
def test_what_fails_is_said_in_one_line(results, arguments, words):
    status, said = doorbuster(*arguments.split())
    assert status == 1
    assert len(said.splitlines()) == 1, said
    assert [word for word in words if word not in said] == [], said


def test_a_bad_setting_is_named(results, monkeypatch):
    monkeypatch.setenv("DOORBUSTER_CELERY_BROKER", "amqp://x")
    status, said = doorbuster("results", "draw")
    assert status == 1
    assert "DOORBUSTER_CELERY_BROKER=amqp://x" in said


def test_a_simulation_fills_the_folder_that_a_report_reads(results, simulated):
    path, printed = simulated
    for words in (
        "Who sells",
        "Table 4",
        "published | simulated",
        "reconcile in all 2",
        "are simulated",
        "sold",
    ):
        assert words in printed.replace("above", "|")
    folder = ComparisonResult.open(path)
    assert folder.facts("capacity")["origin"] == "computed"
    assert folder.facts("capacity")["median_rps"] == pytest.approx(5.6, rel=0.01)
    assert {run.name for run in (path / "runs").iterdir()} == {p.folder for p in folder.plan()}
    assert (folder.figures / "throughput.png").is_file()
    assert CliRunner().invoke(main, ["results", "draw", str(path)]).exit_code == 0


def test_an_interrupted_simulation_is_resumed_by_the_same_command(results, result):
    first, second = (result.run(planned) for planned in result.plan())
    kept = first.summary_file.stat().st_mtime_ns
    second.summary_file.unlink()
    done = CliRunner().invoke(main, ["simulate", *SMALL])
    assert "Resuming" in done.output
    assert "1 of 2 runs are done" in " ".join(done.output.split())
    assert second.is_whole
    assert first.summary_file.stat().st_mtime_ns == kept
    assert list(results.glob("*")) == [result.path]


def test_ctrl_c_ends_all_processes_of_a_simulation(results, tmp_path_factory):
    temporary = tmp_path_factory.mktemp("temporary")
    command = [sys.executable, "-m", "doorbuster", "simulate"]
    command += ["--policies", "sq", "--rho", "1.4,0.9,0.8", "--sessions", "1000000"]
    with subprocess.Popen(
        [*command, "--repetitions", "1", "--processes", "2"],
        cwd=REPOSITORY,
        env={**os.environ, "DOORBUSTER_RESULTS_DIR": str(results), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    ) as process:
        until(lambda: len(psutil.Process(process.pid).children()) >= 3, within_s=240)
        until(lambda: list(temporary.glob("*/doorbuster-run-*")), within_s=240)
        children = psutil.Process(process.pid).children()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said, _ = process.communicate(timeout=240)
    assert process.returncode == 130, said
    assert "Interrupted" in said
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(children, timeout=240)
    assert alive == []
    assert list(temporary.iterdir()) == []


def test_a_simulation_that_another_process_makes_is_left_to_it(result):
    run = result.whole_runs()[0][1]
    run.summary_file.unlink()
    with ComparisonResult.open(result.path).alone():
        status, said = doorbuster("simulate", *SMALL)
    assert status == 1
    assert said == (
        f"Error: Another process is writing {result.path}; wait until it has ended, or begin a new "
        "result with --fresh."
    )
    assert not run.is_whole
    assert doorbuster("simulate", *SMALL)[0] == 0
    assert run.is_whole


def test_a_full_disk_is_told_in_a_line(result):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        status, said = doorbuster("results", "draw", str(result.path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 1
    assert said.startswith("Error: ")
    assert "DOORBUSTER_RESULTS_DIR" in said


def test_another_version_does_not_continue_a_simulation(results):
    spec = changed(load_spec("lifo-pri-simulated"), load__sessions=200)
    versions = {"doorbuster": "long ago"}
    ComparisonResult.create(results, spec, {"versions": versions}, plan(spec))
    status, said = doorbuster("simulate", "--sessions", "200")
    assert status == 1
    assert "--fresh" in said


def test_run_and_compare_take_the_engine_of_the_spec(results, tmp_path):
    spec = changed(Spec(), engine="simulated", load__sessions=100, policy=[{"name": "sq"}])
    (tmp_path / "my.toml").write_text(spec.to_toml())
    assert doorbuster("run", str(tmp_path / "my.toml"), "--processes", "1")[0] == 0
    assert doorbuster("compare", "--spec", str(tmp_path / "my.toml"), "--seed", "9")[0] == 0
    assert len(list(results.glob("*/plan.json"))) == 2


@pytest.mark.parametrize(
    ("option", "table", "more"),
    [
        ("--admission=none,sbac-responsive", "Sessions", "sbac-responsive"),
        ("--abandonment=ignore,cancel", "Wasted work", "cancel"),
    ],
)
def test_each_policy_is_combined_with_what_an_option_names(results, option, table, more):
    done = CliRunner().invoke(main, ["simulate", *SMALL, option, "--seed", "3"])
    assert done.exit_code == 0, done.output
    assert table in done.output
    (path,) = results.glob("*")
    keys = {run["policy"] for run in json.loads((path / "plan.json").read_text())}
    assert keys == {"sq", f"sq+{more}", "8q-lifo-pri", f"8q-lifo-pri+{more}"}


def test_damaged_attempts_are_named(result):
    (file,) = list(result.path.glob("runs/001-*/attempts.parquet"))
    file.write_bytes(b"rubbish")
    status, said = doorbuster("results", "draw")
    assert status == 1
    assert str(file) in said


@pytest.mark.parametrize(
    ("policies", "abandonments", "keys"),
    [
        ([{"name": "sq", "label": "X"}, {"name": "sq", "abandonment": "cancel", "label": "S"}],
         ["ignore", "drop-queued"], ["sq", "sq+drop-queued"]),
        ([{"name": "sq"}, {"name": "sq", "parameters": {"capacity": 10}, "label": "short"}],
         ["ignore", "cancel"], ["sq", "sq+cancel", "short+ignore", "short+cancel"]),
    ],
)  # fmt: skip
def test_only_labels_that_tell_choices_apart_stay(policies, abandonments, keys):
    spec = with_options(Spec(policy=policies), {"abandonment": abandonments})
    assert [choice.key for choice in spec.policy] == keys
