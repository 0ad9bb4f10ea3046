"""Gateway, shop or console killed in the middle of a run; of its workers test_launching tells."""

import contextlib

import psutil
import pytest

from common import answering
from lab.results.comparison import ComparisonResult
from runtime.native.supervision import Supervisor
from runtime.state import State
from tests.lab.console.launches.test_launching import commands_of
from tests.lab.console.streaming import first, looks, stream
from tests.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SPEC = """version = 1
title = "{title}"
engine = "live"
seed = 1
repetitions = 1
time_scale = 20
[[policy]]
name = "sq"
[load]
rho = [{rho}]
sessions = {sessions}
"""
PORTS = {"gateway": "DOORBUSTER_GATEWAY_ADMIN_PORT", "shop": "DOORBUSTER_SHOP_PORT"}


def launched(lab, title, rho, sessions):
    text = SPEC.format(title=title, rho=rho, sessions=sessions)
    answer = lab.upload("spec", "/upload/", "run.toml", text.encode())
    return answer.url.rstrip("/").rsplit("/", 1)[-1]


def listening_on(port):
    """The processes that hold a port."""
    return {
        one.pid for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid
    }  # fmt: skip


def kill(port):
    """Every process that listens there, by -9."""
    holders = listening_on(port)
    assert holders
    for pid in holders:
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).kill()


@pytest.mark.parametrize("part", PORTS)
def test_what_a_death_leaves_is_the_truth_and_the_next_run_works(appliance, lab, part):
    doomed = launched(lab, "Doomed", rho=1.5, sessions=20_000)
    with stream(lab.url("/watch/stream?glance")) as events:
        frames = (one for one in looks(events) if (one["run"] or {}).get("run"))
        came = next(frames)["counts"]["arrived"]
        first(frames, lambda one: one["counts"]["arrived"] > came + 100, "customers")
    kill(int(appliance[PORTS[part]]))
    lab.wait_until(doomed, "failed", "interrupted", "done")
    assert lab.state_of(doomed) == "failed"
    assert f"The {part} died in mid-run" in lab.get(f"/launches/{doomed}/").text
    until(lambda: not commands_of(lab), "the end of its command")

    name = lab.result_of(doomed)
    folder = ComparisonResult(lab.results / name)
    assert not folder.whole_runs()
    (planned,) = folder.plan()
    run = folder.run(planned)
    assert run.samples().num_rows > 0  # what it measured
    assert f"{part} started anew" in run.events_file.read_text()
    assert "0 of 1 runs are complete" in lab.get(f"/results/{name}/").text

    again = launched(lab, "Next", rho=0.5, sessions=50)
    lab.wait_until(again, "done", "failed")
    assert lab.state_of(again) == "done", lab.get(f"/launches/{again}/").text


def test_a_console_that_dies_costs_no_run(lab):
    launch = lab.launch("Goes on", sessions=10_000)
    lab.wait_until(launch, "running")
    kill(lab.port)
    until(lambda: answering.get_refusal("127.0.0.1", lab.port, "/health") is None, "a console")
    lab.wait_until(launch, "done", "failed", "interrupted")
    assert lab.state_of(launch) == "done"


def test_killing_the_console_alone_frees_its_port(appliance, lab):
    supervisor = Supervisor(State(lab.state))
    before = supervisor.states()["lab"]
    assert listening_on(lab.port) == {before.pid}
    assert not psutil.Process(before.pid).children()
    psutil.Process(before.pid).kill()
    until(lambda: before.pid not in psutil.pids(), "the end of the console")
    assert not listening_on(lab.port) - {supervisor.states()["lab"].pid}
    until(lambda: answering.get_refusal("127.0.0.1", lab.port, "/health") is None, "a console")
    assert listening_on(lab.port) == {supervisor.states()["lab"].pid}


def test_killing_the_master_of_the_workers_leaves_none_of_them(appliance, lab):
    supervisor = Supervisor(State(lab.state))
    before = psutil.Process(supervisor.states()["lab-worker"].pid)
    launch = lab.launch("Doomed workers", sessions=200_000)
    lab.wait_until(launch, "running")
    pool = before.children()
    assert len(pool) > 1
    before.kill()
    _, alive = psutil.wait_procs(pool, 30)
    assert not alive
    lab.wait_until(launch, "interrupted", "done")
    until(lambda: not commands_of(lab), "the end of its command")
    again = lab.launch("After the workers", sessions=50)
    lab.wait_until(again, "done")
