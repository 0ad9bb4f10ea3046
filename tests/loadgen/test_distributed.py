"""A master and its workers: the same customers as one process, and honest about a loss."""

import signal
import threading
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from common import ports
from loadgen.records.attempt_log import read_attempts, read_metadata
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process

pytestmark = pytest.mark.slow


PATIENT = ("--timeout-s", "600")
"""A patience of a real half-minute or more: no customer leaves because this machine is slow."""

COLUMNS = ["session", "step", "page", "attempt", "patience_s", "outcome", "status"]


KILLED_OR_TOLD = pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])


@contextmanager
def _cluster(folder, workers, *options, port="", program=locust_process.PROGRAM):
    port = port or str(ports.free(1)[0])
    with ExitStack() as running:
        master = running.enter_context(
            locust_process.started(
                folder,
                *("--master", "--headless", "--only-summary", "--progress", "json"),
                *("--master-bind-host", "127.0.0.1", "--master-bind-port", port),
                *("--expect-workers", str(workers), *options),
                program=program,
            )
        )
        yield (
            master,
            [
                running.enter_context(
                    locust_process.started(folder, "--worker", "--master-port", port)
                )
                for _ in range(workers)
            ],
        )


def _next(master):
    """Return the next progress line."""
    assert master.stdout is not None
    line = master.stdout.readline()
    assert '"progress"' in line, "it ended too early"
    return line


def _until(master, said):
    """Return the progress lines up to the first with `said`."""
    lines = [_next(master)]
    while said not in lines[-1]:
        lines.append(_next(master))
    return lines


def _until_at_work(master):
    """Return the progress lines up to the first with an attempt."""
    lines = [_next(master)]
    while '"attempts": 0,' in lines[-1]:
        lines.append(_next(master))
    return lines


def _has_customers(worker, port):
    """Return whether a customer of that worker is connected to the shop on that port."""
    connections = psutil.Process(worker.pid).net_connections("tcp")
    return any(one.raddr and one.raddr.port == port for one in connections)


@pytest.mark.long
def test_two_workers_play_the_sessions_of_one_process(tmp_path):
    options = ("--time-scale", "20", "--session-rate", "5", "--sessions", "121", "--seed", "3",
               *PATIENT)  # fmt: skip
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    alone.mkdir()
    shared.mkdir()
    with small_shop() as shop:
        one = locust_process.run(alone, "--host", shop.url, "--progress", "json", *options)
        with _cluster(shared, 2, "--host", shop.url, *options) as (master, workers):
            many = locust_process.finish(master)
            for worker in workers:
                _, errors = worker.communicate(timeout=locust_process.PATIENCE_S)
                assert worker.returncode == 0, errors
    assert many.status == 0, many.errors
    tables = [read_attempts(folder / "attempts.parquet") for folder in (alone, shared)]
    assert tables[0].select(COLUMNS).equals(tables[1].select(COLUMNS))
    # The same total load: every session arrives when it does alone.
    arrivals = [
        [row["intended_s"] for row in table.to_pylist() if row["step"] == 0] for table in tables
    ]
    assert arrivals[0] == arrivals[1]
    parts = many.summary["workers"]
    assert [(part["index"], part["of"], part["sessions_ended"]) for part in parts] == [
        (0, 2, 61),
        (1, 2, 60),
    ]
    for name in ("planned", "started", "ended", "confirms", "attempts", "outcomes"):
        assert many.summary["counts"][name] == one.summary["counts"][name]
    assert many.summary["complete"] is True


def _without_its_first_worker(folder, workers, sign, *options):
    """Return the end of a run whose first worker is ended by `sign` when it is at work."""
    with (
        small_shop() as shop,
        _cluster(folder, workers, "--host", shop.url, *options) as (master, there),
    ):
        before = _until_at_work(master)
        there[0].send_signal(sign)
        return locust_process.finish(master, before)


@pytest.mark.long
@KILLED_OR_TOLD
def test_a_worker_that_dies_is_reported_and_the_rest_is_kept(tmp_path, sign):
    # Ten real seconds, of which the first is enough to see that both are at work.
    options = ("--time-scale", "4", "--session-rate", "2", "--sessions", "80", *PATIENT)
    ended = _without_its_first_worker(tmp_path, 2, sign, *options)
    assert ended.status == 1
    assert ended.errors.count("the rest of its sessions are lost") == 1
    assert ended.summary["complete"] is False
    assert ended.summary["interrupted"] is False
    lost, kept = sorted(ended.summary["workers"], key=lambda part: not part["lost"])
    assert (lost["lost"], kept["lost"]) == (True, False)
    assert kept["sessions_ended"] == kept["sessions_planned"] == 40
    assert lost["sessions_ended"] < lost["sessions_planned"] == 40
    sessions = set(read_attempts(tmp_path / "attempts.parquet").column("session").to_pylist())
    assert set(range(kept["index"], 80, 2)) <= sessions
    assert read_metadata(tmp_path / "attempts.parquet")["workers"] == ended.summary["workers"]


@pytest.mark.long
@KILLED_OR_TOLD
def test_losing_the_only_worker_is_no_interruption(tmp_path, sign):
    options = ("--time-scale", "1", "--session-rate", "20", "--sessions", "9999", *PATIENT)
    ended = _without_its_first_worker(tmp_path, 1, sign, *options)
    assert ended.status == 1
    assert "the rest of its sessions are lost" in ended.errors
    assert ended.summary["complete"] is False
    assert ended.summary["interrupted"] is False
    assert [part["lost"] for part in ended.summary["workers"]] == [True]
    rows = read_attempts(tmp_path / "attempts.parquet").num_rows
    assert rows == ended.summary["counts"]["attempts"] > 0


@pytest.mark.long
def test_who_is_done_plays_nothing_again_when_another_leaves(tmp_path):
    all_seen = threading.Event()

    def manner(seen):
        if seen.connection == 1:  # of the three customers the one who comes first stays
            all_seen.wait(locust_process.PATIENCE_S)
        return "page"

    options = ("--time-scale", "20", "--session-rate", "5", "--sessions", "3", "--timeout-s", "inf")
    with (
        small_shop(manner) as shop,
        ExitStack() as in_any_case,
        _cluster(
            tmp_path, 3, "--host", shop.url, *options, program=locust_process.PATIENT_PROGRAM
        ) as (master, workers),
    ):
        in_any_case.callback(all_seen.set)
        before = _until(master, '"ended": 2,')
        leaver = next(worker for worker in workers if not _has_customers(worker, shop.port))
        leaver.terminate()
        leaver.communicate(timeout=locust_process.PATIENCE_S)
        # Locust asks the others for arrivals at once; two seconds later they have come, if any do.
        before += [_next(master), _next(master), _next(master)]
        all_seen.set()
        ended = locust_process.finish(master, before)
        seen = len(shop.requests)
    assert ended.status == 0, ended.errors
    assert ended.summary["complete"] is True
    assert [part["sessions_started"] for part in ended.summary["workers"]] == [1, 1, 1]
    rows = read_attempts(tmp_path / "attempts.parquet").select(["session", "step", "attempt"])
    assert rows.num_rows == seen == len({tuple(row.values()) for row in rows.to_pylist()})


@pytest.mark.long
def test_an_interrupted_master_keeps_what_its_workers_measured(tmp_path):
    options = ("--time-scale", "1", "--session-rate", "20", "--sessions", "9999")
    with (
        small_shop() as shop,
        _cluster(tmp_path, 2, "--host", shop.url, *options) as (master, workers),
    ):
        before = _until_at_work(master)
        master.send_signal(signal.SIGINT)
        ended = locust_process.finish(master, before)
        for worker in workers:
            _, errors = worker.communicate(timeout=locust_process.PATIENCE_S)
            assert "Traceback" not in errors
        seen = len(shop.requests)
    assert ended.status == 0, ended.errors
    assert "Traceback" not in ended.errors
    assert ended.summary["interrupted"] is True
    assert not any(part["lost"] for part in ended.summary["workers"])
    rows = read_attempts(tmp_path / "attempts.parquet").num_rows
    counts = ended.summary["counts"]
    assert rows == counts["attempts"]
    # What was under way when the run was cut is in no row: half a second's pages at most.
    assert rows <= seen <= rows + 30


def test_the_attempts_file_lies_on_the_masters_machine_alone(tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    (here / "results").mkdir(parents=True)
    elsewhere.mkdir()
    port = str(ports.free(1)[0])
    options = ("--time-scale", "20", "--session-rate", "5", "--sessions", "5", *PATIENT)
    with (
        small_shop() as shop,
        locust_process.started(
            here,
            *("--master", "--headless", "--only-summary", "--progress", "json"),
            *("--master-bind-host", "127.0.0.1", "--master-bind-port", port),
            *("--expect-workers", "1", "--host", shop.url, *options),
            *("--attempts-file", "results/attempts.parquet"),
        ) as master,
        locust_process.started(elsewhere, "--worker", "--master-port", port),
    ):
        done = locust_process.finish(master)
    assert done.status == 0, done.errors
    assert read_metadata(here / "results" / "attempts.parquet")["complete"] is True


@pytest.mark.long
def test_who_joins_a_run_under_way_has_no_part_in_it(tmp_path):
    # Arrivals of half a minute: another Locust starts in three seconds, on a busy machine in ten.
    options = ("--time-scale", "10", "--session-rate", "2", "--sessions", "600", *PATIENT)
    port = str(ports.free(1)[0])
    with (
        small_shop() as shop,
        _cluster(tmp_path, 1, "--host", shop.url, *options, port=port) as (master, _),
    ):
        _until_at_work(master)
        late = tmp_path / "late"
        late.mkdir()
        with locust_process.started(late, "--worker", "--master-port", port) as latecomer:
            many = locust_process.finish(master)
            _, errors = latecomer.communicate(timeout=locust_process.PATIENCE_S)
    assert many.status == 0, many.errors
    assert many.summary["complete"] is True
    assert [part["sessions_started"] for part in many.summary["workers"]] == [600]
    assert "joined during a run" in errors
    assert "Traceback" not in errors
    assert latecomer.returncode == 0, errors
