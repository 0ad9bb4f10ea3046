"""The customers of a live run, also from workers that are elsewhere."""

from pathlib import Path

import pytest

from common import cpus, ports
from lab.engines.load_generators import LoadGenerator, distributed_options, load_plan, run_loads
from lab.errors import ExperimentError
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.spec.sections import Clients, Customers, Load
from loadgen.plan import LoadPlan, Sessions
from loadgen.records.attempt_log import read_metadata
from loadgen.workload.sessions import Schedule, Segment, SessionModel
from runtime.settings import load
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process

pytestmark = pytest.mark.slow


def plan_of(load, customers, rho=1.4):
    """The plan of a live run, as the load generator reads it."""
    run = ShopRun.of_spec(Spec(engine="live", load=load, customers=customers), "sq", rho, 5.6)
    return LoadPlan.of_json(load_plan(run).as_json())


def test_the_customers_of_a_run_are_those_of_its_spec():
    customers = Customers(
        lengths={"mixture": [{"name": "buys", "share": 0.25, "mean": 70},
                             {"name": "looks", "share": 0.75, "mean": 3}]},
        think_timeout_mean_s=0,
        think_time_mean_s=5,
    )  # fmt: skip
    plan = plan_of(Load(), customers)
    assert plan.load.model == customers.as_model()
    assert (plan.planned, plan.load.rho, plan.load.capacity_rps) == (1000, 1.4, 5.6)


def test_a_schedule_and_a_duration_replace_the_number_of_sessions():
    load = Load(schedule=[{"duration_s": 50, "rho": 1}, {"duration_s": 25.5, "rho": 2.25}])
    plan = plan_of(load, Customers(), rho=1.0)
    assert plan.load.schedule == Schedule((Segment(50, 1), Segment(25.5, 2.25)))
    assert plan.load.rho is None
    assert plan_of(Load(duration_s=33.5), Customers()).load.arrivals_until_s == 33.5


def test_clients_are_there_for_the_duration():
    clients = Clients(per_set=4, patience_max_s=12.5, mix={"search": 0.125, "file": 3})
    spec = Spec(engine="live", load=Load(rho=None, duration_s=600), clients=clients)
    load = load_plan(ShopRun.of_spec(spec, "sq", None)).load
    assert load.model == clients.as_model()
    assert load.until_s == 600


def test_a_run_that_cannot_be_played_is_an_error_of_the_experiment():
    spec = Spec(engine="live", load=Load(), customers=Customers())
    with pytest.raises(ExperimentError, match="capacity_rps"):
        load_plan(ShopRun.of_spec(spec, "sq", 1.4))


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
