"""Flower, the exporter of the console's Celery workers."""

from dataclasses import replace

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from dashboards.exporters import SERIES
from runtime import answering, monitoring, ports
from runtime.settings import load
from tests.conftest import serving
from tests.lab.console.conftest import wait_for


@pytest.mark.long
def test_flower_says_what_is_taken_from_it(console, tmp_path, monkeypatch):
    [port] = ports.free(1)
    broker = console.environment["DOORBUSTER_CELERY_BROKER"]
    monkeypatch.setenv("DOORBUSTER_CELERY_BROKER", broker)
    settings = replace(load(), celery_exporter_port=port)
    url = f"http://127.0.0.1:{port}/metrics"

    def faults():
        text = requests.get(url, timeout=240).text
        told = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                told.setdefault(sample.name, set()).update(sample.labels)
        return [
            name
            for name, labels in SERIES["celery"].items()
            if name not in told or not labels <= told[name]
        ]

    def refusal():
        return answering.get_refusal("127.0.0.1", port, "/healthcheck")

    with serving(monitoring.flower(settings), refusal, tmp_path / "flower.log"):
        console.wait_until(console.launch("Flower", sessions=60), "done", "failed")
        wait_for(lambda: not faults(), "the metrics of a task")
        assert faults() == []
