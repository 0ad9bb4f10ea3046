"""Customers of a live run from workers that are elsewhere, as far as one machine can show it."""

from pathlib import Path

import pytest

from common import cpus, ports
from lab.engines.load_generators import LoadGenerator, distributed_options, run_loads
from lab.errors import ExperimentError
from loadgen.plan import LoadPlan, Sessions
from loadgen.records.attempt_log import read_metadata
from loadgen.workload.sessions import SessionModel
from runtime.settings import load
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process


def test_customers_come_from_here_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    assert distributed_options(load({}, tmp_path)) == {}


def test_the_customers_of_a_run_come_from_its_workers(tmp_path: Path) -> None:
    lab = load({}, tmp_path).changed(loadgen_workers=2)
    port = ports.free(1)[0]
    attempts_file = tmp_path / "attempts.parquet"
    worker = ("--worker", "--master-port", str(port))
    with (
        small_shop() as shop,
        locust_process.started(tmp_path, *worker),
        locust_process.started(tmp_path, *worker),
    ):
        plan = LoadPlan(
            load=Sessions(model=SessionModel(timeout_s=600), session_rate=5, count=40),
            time_scale=20,
            attempts_file=attempts_file,
        )
        options = {
            **distributed_options(lab),
            "master-bind-port": port,
            "expect-workers-max-wait": 240,
        }
        heard: list[object] = []
        load_generator = LoadGenerator(shop.url, plan, tmp_path / "log", heard.append, options)
        run_loads([load_generator], cpus.for_others(()))
    found = read_metadata(attempts_file)
    assert found["complete"] is True
    assert [part["of"] for part in found["workers"]] == [2, 2]
    assert heard


def test_a_run_whose_workers_do_not_come_says_so(tmp_path: Path) -> None:
    lab = load({}, tmp_path).changed(loadgen_workers=1)
    options = {
        **distributed_options(lab),
        "master-bind-port": ports.free(1)[0],
        "expect-workers-max-wait": 1,
    }
    plan = LoadPlan(load=Sessions(rho=1, count=10))
    load_generator = LoadGenerator(
        "http://127.0.0.1:1", plan, tmp_path / "log", lambda line: None, options
    )
    with pytest.raises(ExperimentError, match="workers"):
        run_loads([load_generator], cpus.for_others(()))
