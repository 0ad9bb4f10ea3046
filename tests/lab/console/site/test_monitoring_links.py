"""Links to what watches the lab."""

import pytest

from lab.console.site.monitoring_links import Watcher, Watchers, links

PROMETHEUS = Watcher("prometheus", "Prometheus", 8088, "/-/ready")
GRAFANA = Watcher("grafana", "Grafana", 8089, "/api/health")


def watching(*answering, clock=lambda: 0.0):
    asked = []

    def refusal(host, port, path):
        asked.append((host, port, path))
        return None if (host, port) in answering else "nobody there"

    made = Watchers((PROMETHEUS, GRAFANA), "127.0.0.1", refusal=refusal, clock=clock)
    return made, asked


def test_only_those_that_answer_are_there():
    watchers, asked = watching(("127.0.0.1", 8088))
    watchers.look()
    assert watchers.there() == (PROMETHEUS,)
    assert ("grafana", 8089, "/api/health") in asked  # by its service's name, too


def test_in_containers_they_answer_by_name():
    watchers, _ = watching(("grafana", 8089), ("prometheus", 8088))
    watchers.look()
    assert watchers.there() == (PROMETHEUS, GRAFANA)


@pytest.mark.parametrize(
    ("own_host", "inner_host", "found"),
    [
        ("127.0.0.1", "127.0.0.1", "http://127.0.0.1:8088/"),
        ("localhost", "127.0.0.1", "http://localhost:8088/"),
        ("::1", "127.0.0.1", "http://[::1]:8088/"),
        ("127.0.0.1", "0.0.0.0", "http://127.0.0.1:8088/"),
        ("lab.example", "10.0.0.5", "http://10.0.0.5:8088/"),
        ("lab.example", "127.0.0.1", None),  # from elsewhere nobody reaches loopback
        ("lab.example", "0.0.0.0", None),
    ],
)
def test_a_link_leads_somewhere_or_is_not_there(own_host, inner_host, found):
    expected = [] if found is None else [(found, "Prometheus")]
    assert links([PROMETHEUS], own_host, inner_host) == expected
