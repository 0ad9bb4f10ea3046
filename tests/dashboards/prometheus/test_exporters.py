"""The exporters of others say what rules and dashboards take from them."""

import shutil
from contextlib import contextmanager
from dataclasses import replace

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from dashboards.exporters import SERIES
from runtime import monitoring, ports, services
from tests.conftest import serving
from tests.lab.console.conftest import console, wait_for  # noqa: F401 - a fixture

CELERY = "celery"


def installed(job):
    program = monitoring.package(job)
    return pytest.param(
        job,
        marks=pytest.mark.skipif(
            shutil.which(program) is None, reason=f"not there: apt-get install {program}"
        ),
    )


@contextmanager
def running(job, settings, folder):
    """The exporter on a port of its own; yields that port."""
    [port] = ports.free(1)
    settings = replace(settings, state_dir=folder, **{f"{job}_exporter_port": port})
    if job == CELERY:
        command, path = monitoring.flower(settings), "/healthcheck"
    else:
        monitoring.prepare_postgres(settings)
        command, path = monitoring.exporter(job, monitoring.find(job), settings), "/"
    refusal = lambda: services.get_refusal("127.0.0.1", port, path)  # noqa: E731
    with serving(command, refusal, folder / f"{job}.log"):
        yield port


def told(port):
    """The name of each series and its labels."""
    text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=240).text
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("job", [installed(job) for job in monitoring.EXPORTERS])
def test_an_exporter_says_what_is_taken_from_it(job, appliance_database, tmp_path):
    with running(job, appliance_database, tmp_path) as port:
        series = told(port)
    for name, labels in SERIES[job].items():
        assert name in series
        assert series[name] == labels, name


def test_flower_says_what_is_taken_from_it(console, appliance_database, tmp_path):
    broker = console.environment["DOORBUSTER_CELERY_BROKER"]
    settings = replace(appliance_database, celery_broker=broker)
    with running(CELERY, settings, tmp_path) as port:
        launch = console.launch("Flower", sessions=60)
        console.wait_until(launch, "done", "failed")

        def missing():
            series = told(port)
            return [name for name, labels in SERIES[CELERY].items() if series.get(name) != labels]

        wait_for(lambda: not missing(), "Flower's metrics of a task")
