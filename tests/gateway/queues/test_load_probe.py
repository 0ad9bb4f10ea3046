"""The shop's load: arithmetic, and a controller that is away, slow or sends nonsense."""

import asyncio
import json
import math
import time
from contextlib import asynccontextmanager

import pytest

from gateway.clock import PaperClock
from gateway.policies.interface import BrokenPolicyError
from gateway.queues import load_probe
from gateway.queues.load_probe import LoadProbe, ProbeError, Status, read_status, sample
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed, closed_port
from tests.waiting import until_in_loop

STATUS = {"time_s": 1.0, "cpu_s": 0.5, "cpus": 1, "busy_workers": 3, "orders": 9}


def status(**changed):
    return read_status(json.dumps(STATUS | changed).encode())


def test_utilisation_is_cpu_over_time():
    load = sample(status(), status(time_s=3.0, cpu_s=2.0, cpus=2, busy_workers=8), 20)
    assert load.cpu_utilisation_ratio == pytest.approx(1.5 / (2 * 2))
    assert (load.busy_workers, load.interval_s) == (8, 20)


def test_a_restarted_shop_gives_no_sample():
    assert sample(status(cpu_s=9), status(time_s=2.0), 10) is None
    assert sample(status(time_s=9), status(), 10) is None
    assert sample(status(), status(), 10) is None


def test_the_whole_status_is_kept():
    read = status()
    assert isinstance(read, Status)
    assert read.whole["orders"] == 9


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", *(json.dumps(STATUS | c).encode() for c in (
        {"cpu_s": None}, {"cpus": 0}, {"time_s": "1"}, {"busy_workers": -1}, {"cpu_s": True},
        {"cpu_s": math.nan}, {"time_s": math.inf}, {"cpu_s": 10**400}, {"cpus": 5e-324},
    ))],
)  # fmt: skip
def test_nonsense_is_named(body):
    with pytest.raises(ProbeError):
        read_status(body)


class Controller(Shop):
    """A controller whose shop burns half a CPU."""

    def __init__(self):
        super().__init__(self._status)
        self.asked = 0
        self.answers = True

    async def _status(self, method, target, fields, body, writer):
        assert (method, target) == ("GET", "/status")
        self.asked += 1
        if not self.answers:
            await asyncio.sleep(60)
        now_s = time.monotonic()  # the loop's goes by milliseconds
        text = json.dumps(STATUS | {"time_s": now_s, "cpu_s": now_s / 2}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))


@asynccontextmanager
async def controlled(*, answers=True, **settings):
    """Yield a gateway and the controller of its shop."""
    controller = Controller()
    controller.answers = answers
    await controller.start()
    given = {"shop_controller_port": controller.port, "utilisation_interval_s": 0.2} | settings
    async with bed(**given) as b:
        yield b, controller
    await controller.stop()


async def test_the_shop_is_asked_once_per_interval_over_one_connection():
    async with controlled(policy="lifo-at-overload") as (b, controller):
        await b.until(lambda: b.gateway.parts.probe.samples >= 5)
        load = b.gateway.figures.snapshot()["load"]
        assert load["cpu_utilisation_ratio"] == pytest.approx(0.5, abs=0.001)
        assert load["busy_workers"] == 3
        assert load["error"] is None
        assert load["status"]["orders"] == 9
        assert controller.connections == 1


async def test_a_shop_that_goes_away_and_comes_back():
    async with controlled() as (b, controller):
        port = controller.port
        probe = b.gateway.parts.probe
        await b.until(lambda: probe.samples >= 1)
        controller.stop_listening()
        controller.hang_up()
        await b.until(lambda: "not reachable" in (probe.snapshot()["error"] or ""))
        assert (await b.get("/")).startswith(b"HTTP/1.1 200 ")
        await controller.start(port)
        await b.until(lambda: probe.snapshot()["error"] is None)


async def test_a_slow_shop_costs_samples_and_nothing_else(monkeypatch):
    monkeypatch.setattr(load_probe, "LEAST_PATIENCE_S", 0.1)
    async with controlled(answers=False) as (b, controller):
        probe = b.gateway.parts.probe
        await b.until(lambda: "no answer within 0.1 s" in (probe.snapshot()["error"] or ""))
        assert (await b.get("/")).startswith(b"HTTP/1.1 200 ")
        controller.answers = True
        await b.until(lambda: probe.samples >= 1)
        assert probe.snapshot()["error"] is None


async def test_a_new_interval_begins_at_once():
    async with controlled(utilisation_interval_s=3600) as (b, controller):
        await b.until(lambda: controller.asked == 1)
        await b.admin("PUT", "/settings", {"utilisation_interval_s": 0.2})
        await b.until(lambda: b.gateway.parts.probe.samples >= 2)
        assert controller.asked >= 2


async def test_an_interval_in_which_the_time_scale_changed_is_what_paper_time_says():
    real_s = [0.0]
    clock = PaperClock(10, lambda: real_s[0])
    loads = []

    controller = Controller()
    await controller.start()
    where = {"host": "127.0.0.1", "port": controller.port}
    probe = LoadProbe(clock, **where, interval_s=1e6, hand_over=loads.append)
    probe.start()
    await until_in_loop(lambda: probe.snapshot()["status"] is not None)
    real_s[0] = 3.0
    clock.scale = 1
    real_s[0] = 5.0
    probe.restart_interval()
    await until_in_loop(lambda: loads)
    probe.stop()
    await controller.stop()
    assert [load.interval_s for load in loads] == [32.0]


async def test_a_policy_that_cannot_take_a_sample_does_not_end_the_asking(caplog):
    taken, errors = [], set()

    def hand_over(load):
        taken.append(load)
        if len(taken) < 3:
            raise BrokenPolicyError("dispatched 7\ntwice")

    controller = Controller()
    await controller.start()
    where = {"host": "127.0.0.1", "port": controller.port}
    probe = LoadProbe(PaperClock(10), **where, interval_s=0.2, hand_over=hand_over)
    with caplog.at_level("ERROR", "gateway.load"):
        probe.start()
        await until_in_loop(lambda: errors.add(probe.snapshot()["error"]) or len(taken) >= 4)
    assert probe.snapshot()["error"] is None
    probe.stop()
    await controller.stop()
    said = "the policy could not handle a load sample: BrokenPolicyError: dispatched 7 twice"
    assert said in errors
    assert len(caplog.records) == 1  # once for both


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"[" + b"[]," * 300_000 + b"[]]", b'{"time_s":' + b"9" * 5_000 + b"}"]
)
def test_an_answer_that_is_made_to_hurt_is_no_status(body):
    """Deep nesting and millions of values are refused in one line, like any other nonsense."""
    with pytest.raises(ProbeError) as refused:
        read_status(body)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


async def test_a_controller_with_an_ipv6_address_is_named_as_urls_write_it():
    """An address without brackets would run together with its port."""
    where = {"host": "::1", "port": closed_port("controller")}
    probe = LoadProbe(PaperClock(10), **where, interval_s=1e6, hand_over=lambda load: None)
    probe.start()
    await until_in_loop(lambda: probe.failures)
    probe.stop()
    assert f"on [::1]:{where['port']}: not reachable" in probe.snapshot()["error"]
