"""The results in PostgreSQL equal those in the folders, for any writers, and never block a run."""

import json
import os
import shutil

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql

from doorbuster.commands import main
from lab.database import publishing as results_publishing
from lab.database.database import ResultsDatabase
from lab.database.schema import READER, ResultsDatabaseError
from lab.files.run_folder import RunFolder
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from runtime.settings import load
from tests.programs import python
from tests.results_in_postgres import connected, own_database, small_result

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(appliance_database, tmp_path):
    with own_database(appliance_database, tmp_path) as settings:
        yield settings


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        return small_result(tmp_path_factory.mktemp("made"), patch)


@pytest.fixture
def result(made, tmp_path):
    return ComparisonResult(shutil.copytree(made.path, tmp_path / made.path.name))


@pytest.fixture
def database(lab):
    with ResultsDatabase(lab) as database:
        yield database


@pytest.fixture
def asked(lab):
    with connected(lab, lab.postgres_user) as connection:
        yield lambda question, *values: connection.execute(question, values).fetchall()


def everything(asked):
    return [
        asked(f"SELECT to_jsonb(t) FROM results.{table} t ORDER BY to_jsonb(t)::text")
        for table in ("experiments", "runs", "events")
    ]


def test_a_result_is_there_with_the_figures_of_its_tables(database, result, asked):
    assert database.publish(result.path.parent, print) == 1
    ((title, planned, whole, ended),) = asked(
        "SELECT title, planned_runs, whole_runs, ended_at FROM results.experiments"
    )
    assert (title, planned, whole) == (result.spec().heading, 2, 2)
    for planned_run, run in result.whole_runs():
        summary = run.summary()
        row = asked(
            "SELECT policy, state, rho, confirms, completed_ratio, arrived_sessions, reconciles, "
            "switched, started_at <= ended_at FROM results.runs WHERE number = %s",
            planned_run.number,
        )
        assert row == [
            (
                planned_run.policy,
                "whole",
                1.4,
                summary.confirms,
                pytest.approx(summary.completed_ratio),
                summary.sessions.arrived,
                True,
                False,
                True,
            )
        ]
    kinds = asked("SELECT kind, count(*) FROM results.events GROUP BY kind ORDER BY kind")
    assert kinds == [("run ended", 2), ("run started", 2)]
    ((last,),) = asked("SELECT max(ended_at) FROM results.runs")
    assert ended == last


def test_publishing_again_changes_nothing(database, result, asked):
    database.publish(result.path.parent, print)
    before = everything(asked)
    database.publish(result.path.parent, print)
    database.experiment(result)
    for planned in result.plan():
        database.run(result, planned)
    assert everything(asked) == before


def test_what_has_left_the_folder_leaves_the_database(database, result, asked):
    database.publish(result.path.parent, print)
    shutil.rmtree(result.path)
    assert database.publish(result.path.parent, print) == 0
    assert everything(asked) == [[], [], []]


def test_a_run_is_followed_from_its_plan_to_its_end(database, result, asked):
    planned, run = result.whole_runs()[0]
    summary = run.summary_file.read_text()
    lines = run.events_file.read_text().splitlines(keepends=True)

    def state():
        return asked(
            "SELECT state, started_at IS NULL, ended_at IS NULL, confirms IS NULL, "
            "(SELECT count(*) FROM results.events e WHERE e.number = runs.number) "
            "FROM results.runs WHERE number = %s",
            planned.number,
        )

    run.summary_file.unlink()
    run.events_file.unlink()
    database.experiment(result)
    assert state() == [("planned", True, True, True, 0)]
    run.events_file.write_text(lines[0])
    database.run(result, planned)
    assert state() == [("begun", False, True, True, 1)]
    assert asked("SELECT whole_runs, ended_at FROM results.experiments") == [(1, None)]
    run.events_file.write_text("".join(lines))
    run.summary_file.write_text(summary)
    database.run(result, planned)
    assert state() == [("whole", False, False, False, 2)]
    assert asked("SELECT whole_runs, ended_at IS NULL FROM results.experiments") == [(2, False)]
    run.summary_file.unlink()  # it is made again
    run.events_file.write_text(lines[0])
    database.run(result, planned)
    assert state() == [("begun", False, True, True, 1)]
    run.summary_file.write_text(summary)
    run.events_file.write_text("".join(lines))


def test_a_run_reads_its_own_files(database, result, monkeypatch):
    """A run that ends reads neither the other runs' files nor its spec twice."""
    database.experiment(result)
    planned, run = result.whole_runs()[0]
    read, events, spec = [], RunFolder.events, ComparisonResult.spec
    monkeypatch.setattr(RunFolder, "events", lambda of: (read.append(of.path), events(of))[1])
    monkeypatch.setattr(ComparisonResult, "spec", lambda of: (read.append("spec"), spec(of))[1])
    database.run(result, planned)
    assert set(read) == {run.path, "spec"}
    assert read.count("spec") == 1


def test_a_switch_stands_where_it_happened_although_the_log_got_it_later(database, result, asked):
    planned, run = result.whole_runs()[0]
    # As a live one at time scale 10: 50 paper seconds after its start are 5 on the wall.
    plain = {k: v for k, v in result.spec().plain().items() if k != "server"}
    live = Spec.model_validate({**plain, "engine": "live", "time_scale": 10.0})
    (result.path / "spec.toml").write_text(live.to_toml())
    started = json.loads(run.events_file.read_text().splitlines()[0])
    switched = {
        "at": "2036-01-01T00:00:00+00:00",
        "event": "switched",
        "time_s": 50.0,
        "policy": {"name": "8q-lifo-pri", "parameters": {}, "admission": {"name": "none"}},
        "abandonment": "cancel",
    }
    database.experiment(result)
    run.events_file.write_text(json.dumps(started) + "\n" + json.dumps(switched) + "\n")
    database.run(result, planned)
    found = asked(
        "SELECT extract(epoch FROM at - %s::timestamptz)::float8, time_s, words, facts "
        "FROM results.events WHERE kind = 'switched'",
        started["at"],
    )
    facts = {"policy": switched["policy"], "abandonment": "cancel"}
    assert found == [
        (pytest.approx(5.0), 50.0, "8Q-LIFO-Pri, when a customer leaves: cancel", facts)
    ]


@pytest.mark.parametrize(
    ("log", "why"),
    [("{", ""), ('{"at": "2026-01-01T00:00:00+00:00", "event": "\\u0000"}\n', "cannot be kept: ")],
)  # fmt: skip
def test_what_is_damaged_or_cannot_be_held_is_said_and_left_out(database, result, asked, log, why):
    damaged = result.path.with_name("20360101T000000Z-damaged")
    shutil.copytree(result.path, damaged)
    _, run = ComparisonResult(damaged).whole_runs()[0]
    run.events_file.write_text(log)
    said = []
    assert database.publish(result.path.parent, said.append) == 1
    assert len(said) == 1
    assert said[0].startswith(f"Left out: 20360101T000000Z-damaged: {why}")
    assert asked("SELECT experiment FROM results.experiments") == [(result.path.name,)]


def test_results_brought_and_deleted_by_hand_are_kept_in_step(lab, result, asked):
    said = []
    results_publishing.keep_in_step(lab, [result.path.name], said.append)
    assert asked("SELECT count(*) FROM results.runs") == [(2,)]
    shutil.rmtree(result.path)
    results_publishing.keep_in_step(lab, [result.path.name], said.append)
    assert everything(asked) == [[], [], []]
    assert said == []


def test_another_form_of_the_tables_is_replaced(lab, result, asked):
    results_publishing.prepare(lab, print)
    assert asked("SELECT count(*) FROM results.runs") == [(2,)]  # a new database gets everything
    with connected(lab, lab.postgres_user) as connection:
        connection.execute("ALTER TABLE results.runs DROP COLUMN confirms")
        connection.execute("COMMENT ON SCHEMA results IS 'doorbuster results, form 0'")
    results_publishing.prepare(lab, print)
    assert asked("SELECT count(confirms) FROM results.runs") == [(2,)]


def test_a_schema_of_somebody_else_is_left_alone(lab, asked):
    with connected(lab, lab.postgres_user) as owner:
        owner.execute("CREATE SCHEMA results")
        owner.execute("CREATE TABLE results.theirs (x int)")
    with pytest.raises(ResultsDatabaseError, match="belongs to another program"):
        ResultsDatabase(lab)
    assert asked("SELECT count(*) FROM results.theirs") == [(0,)]


def test_the_reader_reads_results_and_nothing_else(lab, result):
    results_publishing.prepare(lab, print)
    with connected(lab, lab.postgres_user) as owner:
        owner.execute("CREATE TABLE public.secret (word text)")
    with connected(lab, READER) as reader:
        assert reader.execute("SELECT count(*) FROM results.runs").fetchone() == (2,)
        url = reader.execute("SELECT url FROM results.console").fetchone()
        assert url == (f"http://127.0.0.1:{lab.lab_port}",)
        reader.execute("SET default_transaction_read_only = off")
        for forbidden in (
            "SELECT * FROM public.secret",
            "DELETE FROM results.runs",
            "UPDATE results.console SET url = 'x'",
            "CREATE TABLE results.mine (x int)",
            "CREATE TABLE public.mine (x int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(forbidden)


def test_on_another_s_server_its_keeper_s_role_reads(lab, result):
    results_publishing.prepare(lab, print)  # the role is there
    with connected(lab, lab.postgres_user) as keeper:
        keeper.execute("DROP SCHEMA results CASCADE")
        keeper.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        try:
            database = sql.Identifier(lab.postgres_db)
            keeper.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO plain").format(database))
            ours = lab.changed(postgres_user="plain", postgres_password="plain")
            results_publishing.prepare(ours.changed(results_password="another"), print)
            with connected(lab, READER) as reader:  # with the password it had
                assert reader.execute("SELECT count(*) FROM results.runs").fetchone() == (2,)
        finally:
            keeper.execute("DROP OWNED BY plain")
            keeper.execute("DROP ROLE plain")


def test_what_prepares_waits_for_a_database_that_is_not_there_yet(lab, asked):
    later = lab.changed(postgres_db=f"{lab.postgres_db}_later")
    name = sql.Identifier(later.postgres_db)
    said = []

    def come(words):
        said.append(words)
        with connected(lab, lab.postgres_user) as server:
            server.execute(sql.SQL("CREATE DATABASE {}").format(name))

    try:
        results_publishing.prepare(later, come, wait_s=120)
        assert len(said) == 1
        assert said[0].startswith("Waiting up to 120 s: PostgreSQL at ")
        with connected(later, READER) as reader:
            assert reader.execute("SELECT count(*) FROM results.runs").fetchone() == (0,)
    finally:
        with connected(lab, lab.postgres_user) as server:
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def test_what_prepares_fails_in_one_line_with_the_mend(lab, tmp_path):
    with pytest.raises(ResultsDatabaseError, match=r"PostgreSQL at .*:1: .*; fix: start it"):
        results_publishing.prepare(lab.changed(postgres_port=1), pytest.fail)
    nowhere = {
        "DJANGO_SETTINGS_MODULE": "lab.console.site.settings",
        "DOORBUSTER_STATE_DIR": str(tmp_path / "state"),
        "DOORBUSTER_POSTGRES_PORT": "1",
    }
    done = python("-m", "lab.console", "prepare", "--wait-s", "0", env=os.environ | nowhere)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: PostgreSQL at ")
    assert done.stderr.count("\n") == 1


def test_an_experiment_tells_the_database_as_it_goes(lab, result, asked):
    said = []
    with results_publishing.publishing(lab, said.append) as published:
        published.experiment(result)
        for planned in result.plan():
            published.of_run(result, planned)()
    assert said == []
    assert asked("SELECT state, count(*) FROM results.runs GROUP BY state") == [("whole", 2)]


def test_a_database_that_is_not_there_costs_one_line(lab, result):
    said = []
    nowhere = lab.changed(postgres_port=1)
    with results_publishing.publishing(nowhere, said.append) as published:
        published.experiment(result)
        published.run(result, result.plan()[0])
    assert len(said) == 1
    assert said[0].startswith("Warning: ")
    assert "doorbuster results publish" in said[0]
    assert "\n" not in said[0]


def test_a_database_that_dies_meanwhile_costs_one_line(lab, result):
    said = []
    with results_publishing.publishing(lab, said.append) as published:
        published.experiment(result)
        with connected(lab, lab.postgres_user) as owner:
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'doorbuster results' AND datname = current_database()"
            )
        published.experiment(result)
        published.experiment(result)
    assert len(said) == 1
    assert said[0].startswith("Warning: ")


def test_the_command_says_what_it_wrote_and_what_is_wrong(lab, result, monkeypatch):
    for name, value in {
        "POSTGRES_DB": lab.postgres_db,
        "RESULTS_DIR": str(result.path.parent),
    }.items():
        monkeypatch.setenv(f"DOORBUSTER_{name}", value)
    done = CliRunner().invoke(main, ["results", "publish"])
    assert done.exit_code == 0, done.output
    assert "schema results): 1" in done.output
    monkeypatch.setenv("DOORBUSTER_POSTGRES_PORT", "1")
    done = CliRunner().invoke(main, ["results", "publish"])
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: PostgreSQL at ")
    with pytest.raises(ResultsDatabaseError):
        ResultsDatabase(load())
