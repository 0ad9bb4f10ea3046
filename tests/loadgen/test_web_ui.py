"""Locust's web UI starts, watches and stops the customers."""

import json
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

from common import ports
from common.waiting import retry
from loadgen.records.attempt_log import read_attempts, read_metadata
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process
from tests.waiting import until

pytestmark = pytest.mark.slow


PATIENCE_S = 240


class WebUi:
    def __init__(self, port, shop, folder):
        self.shop = shop
        self.file = folder / "attempts.parquet"
        self._url = f"http://127.0.0.1:{port}"

    def get(self, path):
        with urllib.request.urlopen(self._url + path, timeout=60) as answer:
            return bytes(answer.read())

    def start(self, **options):
        return self.post("/swarm", {"host": self.shop.url} | options)

    def post(self, path, fields):
        form = urllib.parse.urlencode(fields).encode()
        with urllib.request.urlopen(self._url + path, form, timeout=60) as answer:
            return dict(json.loads(answer.read()))

    def statistics(self):
        return dict(json.loads(self.get("/stats/requests")))

    def wait_for(self, reached):
        def found():
            statistics = self.statistics()
            return statistics if reached(statistics) else None

        statistics = until(found, "the statistics became so")
        assert statistics is not None
        return statistics


@pytest.fixture
def web_ui(tmp_path):
    with _served(tmp_path) as ui:
        yield ui


@contextmanager
def _served(tmp_path, *role):
    port = ports.free(1)[0]
    options = ("--web-host", "127.0.0.1", "--web-port", str(port), *role)
    with small_shop() as shop, locust_process.started(tmp_path, *options):
        ui = WebUi(port, shop, tmp_path)
        retry(lambda: ui.get("/"), OSError, PATIENCE_S, every_s=0.05)
        yield ui


def test_start_stop_and_start_again(web_ui):
    quick = {"time_scale": "20", "session_rate": "5"}
    assert web_ui.start(sessions="60", timeout_s="inf", **quick)["success"] is True
    # It stops by itself, and the statistics are by page type.
    done = web_ui.wait_for(lambda found: found["state"] == "stopped")
    by_page = {row["name"]: row["num_requests"] for row in done["stats"]}
    assert by_page["Br-1"] == 60
    assert read_metadata(web_ui.file)["interrupted"] is False
    assert read_attempts(web_ui.file).num_rows == by_page["Aggregated"]

    # The button again, for a run that somebody stops: customers are Locust's users meanwhile.
    web_ui.shop.manner = lambda seen: "hang"
    assert web_ui.start(sessions="9999", timeout_s="inf", **quick)["success"] is True
    web_ui.wait_for(lambda found: found["state"] == "running" and found["user_count"] > 20)
    assert web_ui.post("/stop", {})["success"] is True
    web_ui.wait_for(lambda found: found["state"] == "stopped")
    metadata = read_metadata(web_ui.file)
    assert metadata["interrupted"] is True
    assert metadata["counts"]["started"] > 20
    assert metadata["counts"]["ended"] == 0


def test_a_wrong_field_is_refused_by_name_and_nothing_starts(web_ui):
    answer = web_ui.start(retry_probability="4")
    assert answer["success"] is False
    assert answer["message"] == "--retry-probability: 4.0 is not a probability; give 0 to 1"
    assert web_ui.statistics()["state"] == "ready"
    assert not web_ui.shop.requests
    # Where results go is not for a web page to say.
    assert b"attempts_file" not in web_ui.get("/")


@pytest.mark.long
def test_a_master_without_workers_refuses_to_start(tmp_path):
    port = str(ports.free(1)[0])
    role = ("--master", "--master-bind-host", "127.0.0.1", "--master-bind-port", port)
    with _served(tmp_path, *role) as ui:
        answer = ui.start()
        assert answer["success"] is False
        expected = "--master: no worker has joined yet; start a worker with --worker"
        assert answer["message"] == expected
        # With one it starts, and stops by itself, and can do so again.
        with locust_process.started(tmp_path, "--worker", "--master-port", port):
            for _ in range(2):
                ui.wait_for(lambda found: len(found["workers"]) == 1)
                until(lambda: ui.start(sessions="30", time_scale="20", session_rate="5")["success"])
                until(ui.file.exists)
                assert read_metadata(ui.file)["counts"]["ended"] == 30
                ui.file.unlink()
