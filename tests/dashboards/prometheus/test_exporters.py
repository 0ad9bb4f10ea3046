"""The installed exporters have the series that rules and dashboards use."""

import re

import pytest
import requests

from common import answering, ports
from runtime import monitoring
from tests.conftest import serving
from tests.dashboards.exporters import SERIES
from tests.skips import needs
from tests.waiting import until


def installed(job):
    return pytest.param(job, marks=needs(monitoring.package(job)))


def told(port):
    """Return the name of each series and its labels, as Prometheus reads them.

    The client library's parser would add the ending _total to counters without it.
    """
    text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=240).text
    found = {}
    for name, labels in re.findall(r"^([a-z]\w*)(\{.*\})? ", text, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


@pytest.mark.parametrize("job", [installed(job) for job in monitoring.EXPORTERS])
def test_an_exporter_says_what_is_taken_from_it(job, appliance_database, tmp_path):
    [port] = ports.free(1)
    own = {f"{job}_exporter_port": port, "state_dir": tmp_path}
    settings = appliance_database.changed(**own)
    monitoring.prepare_postgres(settings)
    command = monitoring.exporter(job, monitoring.find(job), settings)

    def refusal():
        return answering.get_refusal("127.0.0.1", port, "/")

    with serving(command, refusal, tmp_path / "exporter.log"):

        def missing():
            series = told(port)
            return [name for name in SERIES[job] if name not in series]

        until(lambda: not missing())
        series = told(port)
    assert [name for name, labels in SERIES[job].items() if not labels <= series[name]] == []
