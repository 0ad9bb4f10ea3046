"""Load generators that begin together: at the moment when a file appears."""

import json
import time

from loadgen.records.attempt_log import read_attempts, read_metadata
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process

QUICK = ("--time-scale", "50", "--session-rate", "2", "--sessions", "20", "--timeout-s", "6000")


def test_a_run_begins_with_its_file_and_says_that_it_is_ready(tmp_path):
    start = tmp_path / "start"
    options = (*QUICK, "--start-file", str(start), "--progress", "json")
    with (
        small_shop() as shop,
        locust_process.started(
            tmp_path, "--headless", "--only-summary", "--host", shop.url, *options
        ) as process,
    ):
        lines = []
        while not lines or json.loads(lines[-1])["event"] != "ready":
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        assert not (tmp_path / "attempts.parquet").exists()
        before = time.time()
        start.touch()
        ended = locust_process.finish(process)
    assert ended.status == 0, ended.errors
    assert before <= read_metadata(tmp_path / "attempts.parquet")["started_at"]
    attempts = read_attempts(tmp_path / "attempts.parquet")
    assert set(attempts["session"].to_pylist()) == set(range(20))
    assert min(attempts["started_s"].to_pylist()) >= 0
