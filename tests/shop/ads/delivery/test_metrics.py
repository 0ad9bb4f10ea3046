"""The ad server's metrics for Prometheus, of real processes."""

import os
import struct
import sys
import threading

import pytest

from shop.ads.delivery import metrics
from tests.programs import python
from tests.shop.ads.conftest import figures, served
from tests.waiting import until

pytestmark = pytest.mark.slow


SELECT = "/ads/select?slots=2&size=234x60&concepts=travel&priority=1"


@pytest.fixture(scope="module")
def two(ads_environment, tmp_path_factory):
    """Yield an ad server of two processes."""
    log = tmp_path_factory.mktemp("ads-metrics") / "ads.log"
    with served(ads_environment, log, processes=2, threads=3, flush_s=0.05) as running:
        yield running


def test_any_process_answers_for_all(two):
    def both_serve():
        return figures(two).get(("doorbuster_ads_threads",)) == 6

    until(both_serve, "two processes serve")
    before = figures(two)
    placed = sum(len(two.get(SELECT).json["banners"]) for _ in range(20))
    for _ in range(3):  # whoever answers
        after = figures(two)

        def grown(name, *labels, after=after):
            return after[(name, *labels)] - before.get((name, *labels), 0)

        assert grown("doorbuster_ads_selection_seconds_count", "1") == 20
        assert grown("doorbuster_ads_requested_slots_total", "1") == 40
        assert grown("doorbuster_ads_impressions_total", "1") == placed > 0


def test_clicks_and_reports_are_counted(two):
    [banner, *_] = two.get(SELECT).json["banners"]
    before = figures(two).get(("doorbuster_ads_clicks_total",), 0)
    assert two.get(banner["click"]).status == 302
    assert figures(two)[("doorbuster_ads_clicks_total",)] == before + 1
    done = ("doorbuster_ads_reports_total", "done")
    reports = figures(two).get(done, 0)
    until(lambda: figures(two)[done] > reports, "a report")
    until(lambda: figures(two)[("doorbuster_ads_unreported_impressions",)] == 0, "all is reported")
    assert figures(two)[("doorbuster_ads_banners",)] == two.get("/ads/health").json["banners"]
    assert figures(two)[("doorbuster_ads_cpu_seconds_total",)] > 0


def test_customers_do_not_see_them(two):
    answer = two.call("GET", "/ads/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
    assert answer.status == 401


def test_a_file_that_is_being_created_is_waited_for(tmp_path, monkeypatch):
    """A process that starts creates its file and fills it a moment later."""
    monkeypatch.setenv(metrics.FOLDER_VARIABLE, str(tmp_path))
    new = tmp_path / "counter_1.db"
    new.touch()
    filling = threading.Timer(0.1, lambda: new.write_bytes((8).to_bytes(8, sys.byteorder)))
    filling.start()
    assert metrics.exposition() == b""
    filling.join()


def test_a_file_that_stays_empty_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv(metrics.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(metrics, "CREATION_S", 0.05)
    (tmp_path / "counter_1.db").touch()
    with pytest.raises(struct.error):
        metrics.exposition()


def test_nothing_is_left_when_it_has_ended(ads_environment, tmp_path):
    environment = ads_environment | {"TMPDIR": str(tmp_path)}
    with served(environment, tmp_path / "ads.log", processes=1, threads=5) as ads:
        assert figures(ads)[("doorbuster_ads_threads",)] == 5
        assert len(list(tmp_path.glob("doorbuster-counts-*"))) == 1
    assert list(tmp_path.glob("doorbuster-counts-*")) == []


def test_counts_of_a_server_that_was_killed_are_removed(tmp_path):
    """Reading the configuration of Gunicorn makes a folder; killed servers do not remove theirs."""
    script = "from shop.ads import gunicorn_config"
    (tmp_path / f"doorbuster-counts-{os.getpid()}-alive").mkdir()
    for _ in range(2):
        done = python("-c", script, env={**os.environ, "TMPDIR": str(tmp_path)})
        assert done.returncode == 0, done.stderr
    alive, last = sorted(tmp_path.iterdir(), key=lambda folder: "alive" not in folder.name)
    assert alive.name.endswith("-alive")
    assert last.is_dir()
