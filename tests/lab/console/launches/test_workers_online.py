"""The gauges of the console's Celery workers and of the messages that wait for them."""

import os
import signal
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.lab.console.conftest import environment_of, served, worker
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def started(console):
    """All tests here are about the console's workers."""
    console.start_workers()


def value_of(console, name):
    """The value of a gauge without labels; None if it has no value."""
    for family in text_string_to_metric_families(console.get("/metrics").text):
        for sample in family.samples:
            if sample.name == f"doorbuster_lab_{name}":
                return sample.value
    return None


def test_workers_count_from_their_start_to_their_end(console, tmp_path):
    until(lambda: value_of(console, "workers") == 1, "the console's worker")
    with worker(console, tmp_path):
        until(lambda: value_of(console, "workers") == 2, "a second worker")
    assert value_of(console, "workers") == 1


def test_a_worker_that_was_killed_does_not_count(console):
    until(lambda: value_of(console, "workers") == 1, "the console's worker")
    mark = console.state / "console" / "workers" / "999999"
    mark.touch()
    assert value_of(console, "workers") == 2
    minute_ago_s = time.time() - 60
    os.utime(mark, (minute_ago_s, minute_ago_s))
    assert value_of(console, "workers") == 1
    mark.unlink()


def test_tasks_wait_while_the_worker_stands_still(console):
    until(lambda: value_of(console, "queued_tasks") == 0, "an empty queue")
    console.workers.process.send_signal(signal.SIGSTOP)
    try:
        launch = console.launch("Waits", sessions=60)
        until(lambda: value_of(console, "queued_tasks") >= 1, "the message of a launch")
    finally:
        console.workers.process.send_signal(signal.SIGCONT)
    console.wait_until(launch, "done")
    until(lambda: value_of(console, "queued_tasks") == 0, "an empty queue")
    assert value_of(console, "workers") == 1


def test_without_a_broker_the_other_metrics_are_there(console, appliance_database, tmp_path):
    environment = environment_of(appliance_database, console.state)
    alone = type(console)(
        int(environment["DOORBUSTER_LAB_PORT"]), console.state, console.results, environment
    )
    with served(alone, tmp_path, DOORBUSTER_CELERY_BROKER="redis://127.0.0.1:1/1"):
        assert value_of(alone, "viewers") == 0
        assert value_of(alone, "queued_tasks") is None
