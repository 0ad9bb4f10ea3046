import os
import signal
import subprocess
import sys

import psutil
import pytest

from lab.errors import ExperimentError, SpecError
from lab.executors.executor import TasksError, run_tasks
from lab.executors.tasks import checked, shown
from runtime.settings import REPOSITORY
from tests.lab.executors import tasks as functions
from tests.waiting import until


def results_of(tasks, worker, **options):
    found = {}
    run_tasks(tasks, worker, on_done=found.__setitem__, **options)
    return [found[index] for index in range(len(tasks))]


def test_every_task_is_made_once_by_processes_of_its_own():
    found = results_of([{"n": n} for n in range(7)], functions.square, processes=2)
    assert [one["square"] for one in found] == [0, 1, 4, 9, 16, 25, 36]
    pids = {one["pid"] for one in found}
    assert os.getpid() not in pids
    assert len(pids) <= 2
    until(lambda: not any(map(psutil.pid_exists, pids)))


def test_a_worker_may_be_named_and_tell_how_far_it_is():
    heard = []
    run_tasks(
        ["a"],
        "tests.lab.executors.tasks:halves",
        on_done=lambda *result: heard.append(("done", *result)),
        on_progress=lambda *progress: heard.append(("progress", *progress)),
    )
    assert heard == [("progress", 0, 0.5), ("done", 0, "a")]


def test_nothing_to_do_starts_nothing():
    done = []
    run_tasks([], functions.square, on_done=lambda *result: done.append(result))
    assert done == []


def test_a_failed_task_is_reported_after_all_the_others_are_made():
    found = {}
    with pytest.raises(TasksError) as refusal:
        run_tasks(list(range(6)), functions.refuse, processes=2, on_done=found.__setitem__)
    assert sorted(found) == [0, 2, 4]
    assert [(f.index, f.reason) for f in refusal.value.failures] == [
        (1, "1 is odd"),
        (3, "ZeroDivisionError: odd number"),
        (5, "5 is odd"),
    ]
    assert "\n" not in str(refusal.value)
    assert "2 more failed" in str(refusal.value)


def test_what_is_no_json_is_refused_before_anything_starts():
    with pytest.raises(ValueError, match="JSON compliant"):
        run_tasks([float("nan")], functions.square, on_done=pytest.fail)


def test_a_task_whose_process_is_killed_is_made_again_once(tmp_path):
    task = {"marker": str(tmp_path / "died"), "always": False}
    assert results_of([task, task], functions.die, processes=1) == ["alive", "alive"]
    task["always"] = True
    with pytest.raises(TasksError, match=r"died, for the second time \(status -9\)"):
        run_tasks([task], functions.die, on_done=pytest.fail)


def test_an_error_of_the_caller_ends_the_processes(tmp_path):
    pids = []

    def stop(index, result):
        pids.append(result["pid"])
        raise ExperimentError("no room left")

    with pytest.raises(ExperimentError, match="no room left"):
        run_tasks([{"n": n} for n in range(50)], functions.square, processes=2, on_done=stop)
    until(lambda: not psutil.pid_exists(pids[0]))


RUNNER = """
import sys
from lab.executors.executor import run_tasks
from tests.lab.executors import tasks as functions
if __name__ == "__main__":
    run_tasks([{"marker": sys.argv[1]}], functions.sleep, on_done=print)
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_the_caller_ends_its_processes(tmp_path, sign):
    marker = tmp_path / "began"
    script = tmp_path / "runner.py"
    script.write_text(RUNNER)
    with subprocess.Popen(
        [sys.executable, str(script), str(marker)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as runner:
        pid = int(until(lambda: marker.exists() and marker.read_text()))
        # As a terminal does it: to the whole group.
        os.killpg(runner.pid, sign) if sign == signal.SIGINT else runner.kill()
        _, said = runner.communicate(timeout=240)
    assert runner.returncode != 0
    assert said.count("Traceback") == (1 if sign == signal.SIGINT else 0)
    until(lambda: not psutil.pid_exists(pid))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://:secret@head:6379/1", "redis://head:6379/1"),
        ("rediss://me:sec@ret@head/1", "rediss://head/1"),
        ("--celery=redis://:secret@head", "--celery=redis://head"),
        ("redis://[::1", "redis://[::1"),
        ("redis://head:6379/1", "redis://head:6379/1"),
        ("--quick", "--quick"),
    ],
)
def test_a_password_is_not_shown(text, expected):
    assert shown(text) == expected


def test_another_kind_of_broker_is_refused_by_the_option_that_names_it():
    assert checked("rediss://head", "--broker") == "rediss://head"
    with pytest.raises(SpecError, match=r"^--broker: 'amqp://head' is not the address") as refusal:
        checked("amqp://:secret@head", "--broker")
    assert "secret" not in str(refusal.value)
