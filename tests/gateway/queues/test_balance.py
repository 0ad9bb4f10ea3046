"""Several processes of one shop behind one gateway."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from gateway.http.upstream import Balance, Processors
from tests.fake_shop.in_loop import Shop, serving
from tests.gateway.real_sockets import bed


class Process:
    """A pool that only counts."""

    def __init__(self, in_service=0):
        self.in_service = in_service
        self.served = []

    def serve(self, exchange):
        self.served.append(exchange)
        self.in_service += 1


def served(processes):
    return [len(process.served) for process in processes]


def test_the_process_with_the_fewest_in_service_is_next():
    processes = [Process(2), Process(0), Process(1)]
    balance = Balance(processes, Processors())
    for exchange in range(6):
        balance.serve(exchange)
    assert served(processes) == [1, 3, 2]
    assert [process.in_service for process in processes] == [3, 3, 3]


@pytest.mark.parametrize(
    ("assigned", "taking_part"), [(None, 3), (0, 1), (0.5, 1), (1, 1), (1.5, 2), (3, 3), (8, 3)]
)
def test_as_many_take_part_as_there_are_processors(assigned, taking_part):
    processes = [Process(), Process(), Process()]
    processors = Processors()
    processors.assigned = assigned
    balance = Balance(processes, processors)
    for exchange in range(6):
        balance.serve(exchange)
    assert served(processes) == [6 // taking_part] * taking_part + [0] * (3 - taking_part)


async def test_a_file_goes_to_a_process_that_serves_no_page():
    """The bypass and the policy's queue share one count of the requests in service."""
    processes = [Shop(is_held=True) for _ in range(2)]
    async with AsyncExitStack() as stack:
        for process in processes:
            await stack.enter_async_context(serving(process))
        ports = tuple(process.port for process in processes)
        b = await stack.enter_async_context(bed(shop_ports=ports))
        asked = [asyncio.create_task(b.get("/"))]
        await b.until(lambda: [process.busy for process in processes] == [1, 0])
        asked.append(asyncio.create_task(b.get("/static/x.css")))
        await b.until(lambda: [process.busy for process in processes] == [1, 1])
        for process in processes:
            process.let_go(1)
        answers = await asyncio.gather(*asked)
        assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * 2


async def test_requests_are_spread_over_real_processes_and_files_with_them():
    processes = [Shop(is_held=True) for _ in range(3)]
    async with AsyncExitStack() as stack:
        ports = []
        for process in processes:
            await stack.enter_async_context(serving(process))
            ports.append(process.port)
        b = await stack.enter_async_context(bed(shop_ports=tuple(ports)))
        asked = [asyncio.create_task(b.get("/")) for _ in range(6)]
        await b.until(lambda: [process.busy for process in processes] == [2, 2, 2])
        b.gateway.parts.processors.assigned = 1.5
        asked += [asyncio.create_task(b.get("/static/x.css")) for _ in range(2)]
        await b.until(lambda: [process.busy for process in processes] == [3, 3, 2])
        for process in processes:
            process.let_go(3)
        for answer in await asyncio.gather(*asked):
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
