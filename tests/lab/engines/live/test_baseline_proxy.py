"""A run behind a real proxy, its customers played by hand; gateway and controller stand by.

Both are a small server here that answers as an idle appliance does.
"""

import os
from contextlib import contextmanager

import psutil
import pyarrow.parquet as pq
import pytest

from gateway.policies.interface import FATES, PAGES
from lab.engines.live import baseline_proxy
from lab.engines.live.appliance import Appliance
from lab.engines.live.run import LiveRun
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from runtime import settings
from tests.fake_shop.server import HoldingServer, Request, fake_server
from tests.lab.baselines.test_process import PAGE, Customer, needs
from tests.waiting import until

SNAPSHOT = {
    "time_s": 1e9,
    "policy": {"name": "sq", "parameters": {}, "admission": {"name": "none"}, "snapshot": {}},
    "waiting": 0,
    "in_service": 0,
    "workers": 30,
    "waiting_by_page": dict.fromkeys(PAGES, 0),
    "counts": {page: dict.fromkeys(FATES, 1000) for page in (*PAGES, "other")},
    "abandonment": {"mode": "cancel", "overdue": 0},
    "load": {"cpu_utilisation_ratio": 0.5, "busy_workers": 3},
}
ANSWERS = {"/snapshot": SNAPSHOT, "/status": {"busy_workers": 0}, "/orders": {"orders": 7}}


@contextmanager
def standing_by(shop):
    """Yield the settings of an appliance whose gateway has no customers, and the calls
    it received."""
    asked = []

    def answer(request: Request):
        if request.method != "GET":
            asked.append((request.method, request.path, request.json or {}))
        return ANSWERS.get(request.path, {})

    with fake_server(answer) as server:
        yield (
            settings.load().changed(
                host="127.0.0.1",
                gateway_host="127.0.0.1",
                gateway_admin_port=server.port,
                shop_host="127.0.0.1",
                shop_port=shop.port,
                shop_controller_port=server.port,
                other_cpus=tuple(sorted(os.sched_getaffinity(0))),
            ),
            asked,
        )


@contextmanager
def a_run(name, tmp_path, shop, **parameters):
    needs(name)
    spec = Spec.model_validate(
        {"abandonment": "cancel", "policy": [{"gateway": name, "parameters": parameters}]}
    )
    planned = PlannedRun(number=1, policy=name, rho=1.4, seed=1)
    folder = RunFolder(tmp_path / "result" / "runs" / planned.folder)
    with standing_by(shop) as (lab, asked):
        appliance = Appliance(lab.changed(state_dir=tmp_path))
        try:
            described = ShopRun.of_spec(spec, name, 1.4, 5.6)
            with LiveRun(appliance, described, 1, folder) as run:
                yield run, asked
        finally:
            appliance.close()


def test_the_proxy_answers_in_the_gateways_form(tmp_path):
    with (
        HoldingServer(PAGE).serving() as shop,
        a_run("haproxy", tmp_path, shop, maxconn=1, queue_s=3600) as (run, asked),
    ):
        assert "/policy" not in [path for _, path, _ in asked]  # the gateway's stays
        behind = run.appliance
        first = Customer(proxy_of(run))
        assert until(lambda: len(shop.requests) == 1, 60)
        second = Customer(proxy_of(run), "/search/")
        assert until(lambda: behind.snapshot()["waiting"] == 1, 60)
        now = behind.snapshot()
        assert set(now) >= set(SNAPSHOT)
        assert now["policy"]["name"] == "haproxy"
        assert now["policy"]["parameters"]["maxconn"] == 1
        assert (now["in_service"], now["workers"], now["load"]["busy_workers"]) == (1, 30, 3)
        assert now["waiting_by_page"] == dict.fromkeys(PAGES)  # not known, not 0
        found = until(lambda: baseline_proxy.read_status(run.folder), 60)
        assert found["policy"]["name"] == "haproxy"
        seen = run.sampler.rows
        assert until(lambda: any(row["waiting"] == 1 for row in list(seen)), 60)
        second.leave()
        assert until(lambda: behind.snapshot()["waiting"] == 0, 60)
        shop.let_go()
        assert first.answer().status == 200
        assert until(lambda: fates(behind) == {"answered": 1, "withdrawn": 1}, 60)
        counts = behind.counts()
        assert counts["orders"] == 7
        assert (
            counts["gateway"]["Br-1"] | {"arrived": 1, "dispatched": 1, "answered": 1}
            == (counts["gateway"]["Br-1"])
        )
        assert counts["gateway"]["Br-3"]["withdrawn"] == counts["abandonment"]["withdrawn"] == 1
        assert run.before["gateway"]["Br-1"]["arrived"] == 0
        behind.wait_idle()
        with pytest.raises(
            ExperimentError, match="abandonment: cannot change during a run with haproxy"
        ):
            behind.set_abandonment("ignore")
    assert baseline_proxy.read_status(run.folder) is None
    samples = pq.read_table(run.folder.samples_file).to_pydict()
    assert samples["arrived_total"][-1] == samples["dispatched_total"][-1] + 1 == 2
    assert max(samples["waiting_Br-3"]) == 1
    assert set(samples["waiting_Tr-4"]) == {0}
    assert (run.folder.path / "haproxy.cfg").is_file()


@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_an_interrupted_run_leaves_nothing_running(name, tmp_path):
    seen = []

    def interrupted():
        with HoldingServer(PAGE).serving() as shop, a_run(name, tmp_path, shop) as (run, _):
            seen.extend((psutil.Process(proxy_of(run).process.pid), run.folder))
            until(lambda: baseline_proxy.read_status(run.folder), 60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    process, folder = seen
    assert not process.is_running()
    assert baseline_proxy.read_status(folder) is None
    assert folder.samples_file.is_file()


def test_a_proxy_that_dies_ends_the_run(tmp_path):
    with HoldingServer(PAGE).serving() as shop, a_run("nginx", tmp_path, shop) as (run, _):
        run.log_changes(())
        process = proxy_of(run).process
        process.kill()
        process.wait(60)
        with pytest.raises(ExperimentError, match="nginx ended in mid-run"):
            run.log_changes(())


def proxy_of(run):
    return run.appliance.process


def fates(behind):
    counts = behind.snapshot()["counts"].values()
    total = {fate: sum(one[fate] for one in counts) for fate in ("answered", "withdrawn")}
    return {fate: number for fate, number in total.items() if number}


STATUS = dict.fromkeys((*baseline_proxy.STATUS_KEYS, "load"), 3)


def test_it_is_shown_as_long_as_the_run_goes_on(tmp_path):
    folder = RunFolder(tmp_path)
    assert baseline_proxy.read_status(folder) is None
    shown = baseline_proxy.ProxyStatusFile(folder)
    shown.look(STATUS)
    proxy = baseline_proxy.read_status(folder)
    assert proxy is not None
    assert proxy["waiting"] == 3
    assert "load" not in proxy  # which the gateway measures
    shown.look(STATUS | {"waiting": 4})  # too soon
    assert baseline_proxy.read_status(folder) == proxy
    shown.close()
    assert baseline_proxy.read_status(folder) is None
