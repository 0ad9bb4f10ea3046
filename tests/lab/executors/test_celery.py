"""The Celery executor with real workers and a real Redis."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest
import redis
from celery.app.control import Control

from common import ports
from lab.errors import ExperimentError, SpecError
from lab.executors import celery as celery_executor
from lab.executors.executor import TasksError, run_tasks
from lab.files.run_folder import RunFolder
from runtime.native import redis_server
from runtime.settings import REPOSITORY, load
from tests.conftest import serving
from tests.lab.executors import tasks as functions
from tests.lab.executors.test_local import results_of
from tests.programs import run
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The address of a Redis of these tests' own, but for the database."""
    with a_store(tmp_path_factory.mktemp("redis")) as address:
        yield address


@contextmanager
def a_store(folder):
    """A Redis in `folder`; its address without the database."""
    (port,) = ports.free(1)
    store = redis_server.Store(
        redis_server.find(load().redis_bin),
        folder,
        port,
        configuration=redis_server.BROKER_CONFIGURATION,
    )
    redis_server.prepare(store)
    log = folder / "redis.log"
    with serving(store.command(), lambda: redis_server.refusal(port), log):
        yield f"redis://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def busy(store):
    """A broker with a worker of two places, for all tests that leave it alive."""
    broker = f"{store}1"
    with worker(broker, places=2):
        yield broker


@pytest.fixture
def broker(store):
    """Return a broker without workers."""
    with redis.Redis.from_url(f"{store}2") as client:
        client.flushdb()
    return f"{store}2"


@contextmanager
def worker(broker, *, places=1, code=None):
    """A worker that is ready; ended with all its processes."""
    # The code this process has loaded: somebody may be editing it while the tests run.
    command = [sys.executable, "-m", "tests.lab.executors.celery_worker", broker, str(places)]
    process = subprocess.Popen(
        [*command, code or celery_executor.CODE], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert "tasks at a time" in process.stdout.readline()
        wait_for_answer(broker)
        yield process
    finally:
        if process.poll() is None:
            kill(psutil.Process(process.pid))
        process.wait()
        process.stdout.close()


def wait_for_answer(broker):
    """Until a worker answers at the broker."""
    control = celery_executor.application(broker).control
    until(lambda: control.ping(timeout=1.0), within_s=240)


def kill(process):
    """A process and all that it started; some may have ended by themselves meanwhile."""
    with suppress(psutil.NoSuchProcess):
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                one.kill()


def test_tasks_are_made_by_workers_and_results_are_taken_away(busy):
    found = results_of([{"n": n} for n in range(5)], functions.square, celery_broker=busy)
    assert [one["square"] for one in found] == [0, 1, 4, 9, 16]
    assert os.getpid() not in {one["pid"] for one in found}
    with redis.Redis.from_url(busy) as client:
        assert not client.keys("celery-task-meta-*")


def test_a_worker_says_how_far_it_is(busy, tmp_path):
    heard = []
    task = {"until": str(tmp_path / "heard")}

    def hear(*progress):
        heard.append(progress)
        (tmp_path / "heard").touch()

    run_tasks([task], functions.wait_halfway, celery_broker=busy, on_done=print, on_progress=hear)
    assert (0, 0.5) in heard


def test_failures_are_told_as_on_cores(busy):
    found = {}
    with pytest.raises(TasksError) as refusal:
        run_tasks([0, 1, 3], functions.refuse, celery_broker=busy, on_done=found.__setitem__)
    assert found == {0: 0}
    assert [f.reason for f in refusal.value.failures] == [
        "1 is odd",
        "ZeroDivisionError: odd number",
    ]


@pytest.mark.parametrize("name", ["os:system", "doorbuster.__main__:main"])
def test_a_worker_calls_the_functions_that_simulate_only(busy, name):
    with pytest.raises(TasksError, match="not one of the functions"):
        run_tasks([1], name, celery_broker=busy, on_done=pytest.fail)


def test_a_task_whose_process_is_killed_is_made_again_once(busy, tmp_path):
    task = {"marker": str(tmp_path / "died"), "always": False}
    assert results_of([task], functions.die, celery_broker=busy) == ["alive"]
    task["always"] = True
    with pytest.raises(TasksError, match="lost, for the second time"):
        run_tasks([task], functions.die, celery_broker=busy, on_done=pytest.fail)


def test_an_error_of_the_caller_revokes_what_is_under_way(busy, tmp_path):
    marker = tmp_path / "began"

    def stop(index, result):
        until(lambda: marker.exists() and marker.read_text())
        raise ExperimentError("no room left")

    tasks = [{"n": 1}, {"marker": str(marker), "n": 2}]
    with pytest.raises(ExperimentError, match="no room left"):
        run_tasks(tasks, functions.square_or_sleep, celery_broker=busy, on_done=stop)
    pid = int(marker.read_text())
    until(lambda: not psutil.pid_exists(pid))
    assert len(results_of([{"n": 3}], functions.square, celery_broker=busy)) == 1


@pytest.mark.long
def test_a_worker_that_is_killed_has_its_task_made_by_another(broker, tmp_path, monkeypatch):
    monkeypatch.setattr(celery_executor, "LOST_AFTER_S", 10.0)
    marker = tmp_path / "began"

    def kill_whoever_has_it():
        pid = int(until(lambda: marker.exists() and marker.read_text(), within_s=240))
        kill(psutil.Process(pid).parent())

    with worker(broker), worker(broker):
        killer = threading.Thread(target=kill_whoever_has_it)
        killer.start()
        task = {"marker": str(marker)}
        assert results_of([task], functions.sleep, celery_broker=broker) == ["awake"]
        killer.join()


def test_a_task_ends_with_its_worker_that_is_killed(broker, tmp_path):
    """The process in the pool does not go on with a task whose result no process takes."""
    marker = tmp_path / "began"
    with worker(broker) as process:
        app = celery_executor.application(broker)
        task = json.dumps({"marker": str(marker)})
        app.tasks[celery_executor.TASK].apply_async(
            (celery_executor.CODE, "tests.lab.executors.tasks:sleep", task)
        )
        pid = int(until(lambda: marker.exists() and marker.read_text(), within_s=240))
        busy = psutil.Process(pid)
        process.kill()
        busy.wait(5)  # 0.1 s; without the kernel's signal ten minutes
        assert not busy.is_running()
        process.wait()


@pytest.mark.long
def test_a_worker_of_other_code_is_refused(broker):
    with (
        worker(broker, code="000000000000"),
        pytest.raises(ExperimentError, match=r"runs other code: .*this is .*Install the same"),
    ):
        run_tasks([{"n": 1}], functions.square, celery_broker=broker, on_done=pytest.fail)


def test_nobody_there_names_the_command(broker, monkeypatch):
    monkeypatch.setattr(celery_executor, "FIRST_REPLY_WITHIN_S", 0.0)
    with pytest.raises(
        ExperimentError, match="start workers, here or on other machines: doorbuster worker"
    ):
        run_tasks([{"n": 1}], functions.square, celery_broker=broker, on_done=pytest.fail)


def test_a_redis_that_is_full_is_named_and_the_worker_lives(store):
    broker = f"{store}3"
    tasks = [{"n": n} for n in range(2)]
    with worker(broker), redis.Redis.from_url(broker) as client:
        client.config_set("maxmemory", 1)
        try:
            with pytest.raises(ExperimentError, match="is full, so it refuses tasks and results"):
                run_tasks(tasks, functions.square, celery_broker=broker, on_done=print)
        finally:
            client.config_set("maxmemory", "128mb")
        found = results_of(tasks, functions.square, celery_broker=broker)
        assert [one["square"] for one in found] == [0, 1]


def test_a_redis_that_ends_is_named(tmp_path):
    """A run whose Redis ends reports this in one sentence, which says how to resume."""
    with ExitStack() as stack:
        broker = f"{stack.enter_context(a_store(tmp_path))}1"

        def end_redis(index, result):
            with redis.Redis.from_url(broker) as client:
                client.shutdown(nosave=True)

        stack.enter_context(worker(broker))
        with pytest.raises(ExperimentError, match=r"no longer answers .*repeat the command"):
            run_tasks(
                [{"n": 1}, {"n": 2, "marker": str(tmp_path / "began")}],
                functions.square_or_sleep,
                celery_broker=broker,
                on_done=end_redis,
            )


def test_progress_is_a_sign_of_life(busy, monkeypatch):
    """A task that reports progress is not lost while its worker does not list it."""
    broadcast = Control.broadcast

    def without_tasks(*arguments, **options):
        replies = broadcast(*arguments, **options)
        return [{name: {**said, "active": []} for name, said in one.items()} for one in replies]

    monkeypatch.setattr(Control, "broadcast", without_tasks)
    monkeypatch.setattr(celery_executor, "LOST_AFTER_S", 3.0)
    assert results_of([{"until": 80}], functions.count, celery_broker=busy) == ["counted"]


@pytest.mark.parametrize(
    ("address", "fault", "hint"),
    [
        ("redis://:secret@127.0.0.1:1/1", ExperimentError,
         r"No Redis answers at .*127\.0\.0\.1:1/1"),
        ("redis://127.0.0.1:port/1", SpecError, "allowed: redis://host:port/database"),
    ],
)  # fmt: skip
def test_a_broker_that_cannot_be_reached_is_one_line(address, fault, hint):
    with pytest.raises(fault, match=hint) as refusal:
        run_tasks([1], functions.square, celery_broker=address, on_done=pytest.fail)
    assert "\n" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.long
def test_a_simulation_comes_back_with_all_its_files(broker, tmp_path):
    environment = {**os.environ, "DOORBUSTER_RESULTS_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "doorbuster"]
    here = ["simulate", "--policies", "sq", "--rho", "1.4"]
    here += ["--sessions", "300", "--repetitions", "1"]
    with subprocess.Popen([*command, "worker", "--broker", broker], cwd=REPOSITORY,
                          stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            assert "tasks at a time" in process.stdout.readline()
            wait_for_answer(broker)
            done = run(*command, *here, "--celery", broker, env=environment)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=240) == 0
        except BaseException:
            kill(psutil.Process(process.pid))  # else nobody would, and this test would hang
            raise
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MB came back" in done.stdout
    (path,) = tmp_path.glob("*/runs/*")
    files = {file.name for file in path.iterdir()}
    assert files == {"attempts.parquet", "samples.parquet", "events.jsonl", "run.json"}
    # The same as made here, byte for byte but for the time of day.
    run(*command, *here, "--fresh", env=environment, check=True)
    both = [RunFolder(one) for one in sorted(tmp_path.glob("*/runs/*"))]
    assert both[0].attempts().equals(both[1].attempts())
    assert both[0].summary() == both[1].summary()
