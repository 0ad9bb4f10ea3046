"""All queries of the dashboards, sent to a Prometheus that gives prepared answers."""

import pytest
from click.testing import CliRunner

from dashboards.grafana import asking
from dashboards.grafana.committed import committed, promql
from tests.fake_shop.server import FakeServer


class Prometheus(FakeServer):
    """A Prometheus with two series for queries that do not begin with `without`; one
    has only NaN."""

    def __init__(self):
        super().__init__(self._answer)
        self.without = "nothing"

    def _answer(self, request):
        form = request.form
        assert (request.method, request.path) == ("POST", "/api/v1/query_range")
        assert "$" not in form["query"]
        at = [float(form["start"]), float(form["end"])]
        found = [
            {"metric": {"page": "Br-1", "le": "0.5"}, "values": [[one, "0.5"] for one in at]},
            {"metric": {"page": "Br-2", "le": "1"}, "values": [[one, "NaN"] for one in at]},
        ]
        if self.without in form["query"]:
            found = found[1:]
        return {"status": "success", "data": {"result": found}}


@pytest.fixture
def prometheus():
    with Prometheus().serving() as server:
        yield server


def test_everything_is_asked_and_has_data(prometheus):
    done = CliRunner().invoke(asking.main, ["--prometheus", f"{prometheus.url}/"])
    count = sum(1 for name, board in committed().items() for _ in promql(name, board))
    assert done.output == f"{count} of {count} queries have data\n"
    assert done.exit_code == 0


def test_what_has_no_data_is_named(prometheus):
    prometheus.without = "doorbuster_ads_banners"
    done = CliRunner().invoke(asking.main, ["ads", "--prometheus", prometheus.url])
    assert done.exit_code == 1
    first, last = done.output.splitlines()
    assert first == "no data: ads: Banners A: doorbuster_ads_banners"
    assert last.endswith("queries have data")


def test_no_prometheus_is_one_line():
    done = CliRunner().invoke(asking.main, ["--prometheus", "http://127.0.0.1:1"])
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: no Prometheus answers at http://127.0.0.1:1 ([Errno 111]")
    assert "; fix: make up" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_dashboard_that_there_is_not():
    done = CliRunner().invoke(asking.main, ["nope"])
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: Invalid value for NAME: 'nope'; allowed: ads, ")
    assert len(done.stderr.splitlines()) == 1
