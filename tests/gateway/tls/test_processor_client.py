"""The gateway's end of the connection to the CPU manager: real sockets, a scripted manager."""

import asyncio
import os
import shutil
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.tls.processor_client import ProcessorClient
from gateway.tls.processor_protocol import (
    Assigned,
    CpusRequest,
    Refused,
    Register,
    from_application,
    written,
)
from tests.gateway.real_sockets import PATIENCE_S, bed
from tests.waiting import until_in_loop

SHOP = Register("shop-1", 2.0, 4711)


class Manager:
    """A manager that follows a test's script and keeps every message that it received."""

    def __init__(self, path):
        self.path = path
        self.told = []
        self.writers = []
        self.connections = 0
        self.server = None

    async def start(self):
        self.server = await asyncio.start_unix_server(self._serve, self.path)

    async def stop(self):
        self.server.close()
        self.path.unlink(missing_ok=True)
        for writer in self.writers:
            writer.close()
        self.writers.clear()

    async def _serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        while line := await reader.readline():
            self.told.append(from_application(line))
        writer.close()

    def say(self, data):
        self.writers[-1].write(data if isinstance(data, bytes) else written(data))


@pytest.fixture
def folder():
    """Yield a folder with a short path: a socket's path is limited."""
    folder = Path(tempfile.mkdtemp(prefix="ecm-"))
    yield folder
    shutil.rmtree(folder)


@asynccontextmanager
async def started(folder, *, requested=lambda: 3, is_there=True):
    """Yield a manager, a client of it, and the values that the client passed on."""
    manager = Manager(folder / "ecm.sock")
    if is_there:
        await manager.start()
    handed_over = []
    client = ProcessorClient(
        manager.path,
        SHOP,
        interval_s=lambda: 0.01,
        requested=requested,
        assigned=handed_over.append,
    )
    client.start()
    try:
        yield manager, client, handed_over
    finally:
        client.stop()
        if manager.server is not None:
            await manager.stop()
        await asyncio.sleep(0)


async def test_it_registers_asks_every_interval_and_hands_over_what_is_assigned(folder):
    async with started(folder) as (manager, client, handed_over):
        await until_in_loop(lambda: len(manager.told) >= 4)
        assert manager.told[0] == SHOP
        assert set(manager.told[1:]) == {CpusRequest(3)}
        manager.say(Assigned(1.5, (0, 1)))
        manager.say(Assigned(0.0, ()))
        await until_in_loop(lambda: handed_over == [1.5, 0.0])
        assert client.snapshot() == {
            "application": "shop-1",
            "priority": 2.0,
            "process": 4711,
            "connected": True,
            "registrations": 1,
            "requested": 3,
            "assigned": 0.0,
            "processors": [],
            "error": None,
        }


async def test_nothing_is_asked_for_before_it_is_known_how_much(folder):
    needs = [None]

    async with started(folder, requested=lambda: needs[0]) as (manager, _, _):
        await until_in_loop(lambda: manager.told)
        needs[0] = 10**12
        await until_in_loop(lambda: len(manager.told) > 1)
        assert manager.told[:2] == [SHOP, CpusRequest(1_000_000)]


async def test_a_manager_that_dies_takes_nothing_away_and_its_successor_hears_what_there_was(
    folder,
):
    async with started(folder) as (manager, client, handed_over):
        await until_in_loop(lambda: manager.told)
        manager.say(Assigned(1.5, (1, 0)))
        await until_in_loop(lambda: handed_over == [1.5])
        await manager.stop()
        await until_in_loop(lambda: client.snapshot()["error"] is not None)
        assert client.snapshot()["assigned"] == 1.5
        assert not client.snapshot()["connected"]
        manager.told.clear()
        await manager.start()
        await until_in_loop(lambda: len(manager.told) > 1)
        assert manager.told[:2] == [
            Register("shop-1", 2.0, 4711, processors=(1, 0)),
            CpusRequest(3),
        ]
        manager.say(Assigned(2.0, (0, 1)))
        await until_in_loop(lambda: client.snapshot()["error"] is None)
        assert handed_over == [1.5, 2.0]


async def test_a_manager_that_comes_late(folder):
    async with started(folder, is_there=False) as (manager, client, _):
        await until_in_loop(lambda: client.snapshot()["error"] == "No such file or directory")
        await manager.start()
        await until_in_loop(lambda: manager.told)
        assert manager.told[0] == SHOP


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Refused("is taken", "application", "another"), "application: is taken; allowed: another"),
        (b"what?\n", "message: is not JSON; allowed: one JSON object per line"),
        (b"x" * 200_000, "more than 65536 bytes"),
    ],
)
async def test_a_refusal_or_nonsense_is_said_and_it_tries_again(folder, answer, error):
    async with started(folder) as (manager, client, handed_over):
        await until_in_loop(lambda: manager.told)
        manager.say(answer)
        await until_in_loop(lambda: error in (client.snapshot()["error"] or ""))
        await until_in_loop(lambda: manager.connections > 1)
        manager.say(Assigned(1.0, (0,)))
        await until_in_loop(lambda: handed_over)
        assert handed_over == [1.0]


async def test_a_manager_that_does_not_read_is_not_buried(folder):
    server = None
    accepted = asyncio.Event()
    done = asyncio.Event()

    async def deaf(reader, writer):
        writer.transport.pause_reading()
        accepted.set()
        await done.wait()
        writer.close()

    server = await asyncio.start_unix_server(deaf, folder / "ecm.sock")
    client = ProcessorClient(
        folder / "ecm.sock",
        SHOP,
        interval_s=lambda: 3600,
        requested=lambda: 3,
        assigned=lambda processors: None,
    )
    client.start()
    async with asyncio.timeout(PATIENCE_S):
        await accepted.wait()
    for _ in range(50_000):  # far more than socket and limit hold
        client.tell()
    await asyncio.sleep(0)
    assert client.unsent_bytes < 200_000
    done.set()
    client.stop()
    server.close()


async def test_the_gate_asks_and_is_told(folder):
    manager = Manager(folder / "ecm.sock")
    await manager.start()
    async with bed(
        cpu_manager=manager.path,
        application="gold",
        priority=3,
        shop_ports=(8001, 8002, 8003),
        time_scale=1000,
        connection_admission="eac",
        connection_admission_parameters={"ctn_s": 2.0, "cto_s": 0.1},
    ) as b:
        await until_in_loop(lambda: CpusRequest(1) in manager.told)
        assert manager.told[0] == Register("gold", 3.0, os.getppid())
        manager.say(Assigned(1.5, (0, 1)))
        await until_in_loop(lambda: b.gateway.figures.snapshot()["cpu_manager"]["assigned"] == 1.5)
        assert b.gateway.parts.gate.described()["snapshot"]["processors"] == 1.5
        assert b.gateway.parts.processors.assigned == 1.5
        metrics = b.gateway.metrics.text()
        assert b"doorbuster_gateway_assigned_processors 1.5\n" in metrics
        assert b"doorbuster_gateway_requested_processors 1.0\n" in metrics
        b.gateway.parts.gate.replace("none", {})
        await until_in_loop(lambda: manager.told[-1] == CpusRequest(3))
    await until_in_loop(lambda: manager.writers[-1].transport.is_closing())
    await manager.stop()


async def test_without_a_manager_there_is_none():
    async with bed() as b:
        assert b.gateway.figures.snapshot()["cpu_manager"] is None
