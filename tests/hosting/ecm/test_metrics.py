"""The CPU manager's metrics for Prometheus."""

import socket
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from common import ports
from hosting.ecm.metrics import CpuManagerMetrics
from tests.hosting.family import CPUS, families, manager


def application(name, **facts):
    return {
        "application": name, "has_left": False, "priority": 1.0, "requested": 2, "assigned": 1.5,
        "processors": [0, 1], "cpu_s": 0.1, "total_cpu_s": 7.25, **facts,
    }  # fmt: skip


STATUS = {
    "cpus": [0, 1, 3], "sharing": "both", "interval_s": 0.2, "last_interval_s": 0.21, "turns": 9,
    "applications": [
        application("shop-a"),
        application("shop-b", assigned=0.5, processors=[1]),
        application("shop-a", has_left=True),  # it has come back by the same name
    ],
}  # fmt: skip


def figures(families):
    """Return name → labels' values → value."""
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in families
    }


def test_who_asks_for_what_and_has_it():
    found = figures(CpuManagerMetrics(lambda: STATUS).collect())
    assert found["doorbuster_cpu_manager_assigned_processors"] == {
        ("shop-a",): 1.5,
        ("shop-b",): 0.5,
    }
    assert found["doorbuster_cpu_manager_processors"] == {(): 3}
    assert found["doorbuster_cpu_manager_turns"] == {(): 9}
    assert found["doorbuster_cpu_manager_application_cpu_seconds"][("shop-a",)] == 7.25
    assert set(found["doorbuster_cpu_manager_processor_info"]) == {
        ("shop-a", "0"), ("shop-a", "1"), ("shop-b", "1"),
    }  # fmt: skip


def test_a_manager_answers_prometheus():
    [port] = ports.free(1)
    on = ",".join(map(str, CPUS))
    with families(1) as [one], manager(on=on, metrics_port=port) as running:
        running.register("shop-a", one, 1)
        running.until(lambda: running.applications()["shop-a"]["assigned"] == 1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=240) as answer:
            text = answer.read().decode()
    found = figures(text_string_to_metric_families(text))
    assert found["doorbuster_cpu_manager_assigned_processors"] == {("shop-a",): 1}
    assert found["doorbuster_cpu_manager_turns"][()] >= 1


def test_a_port_that_is_taken_stops_no_manager():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with manager(on=str(CPUS[0]), metrics_port=port) as running:
            assert running.status()["turns"] >= 0
            assert f"cannot serve metrics on port {port}" in running.errors.read_text()
