"""The simulator's benchmark: every subject does the work it is measured by."""

import pytest
from rich.console import Console

from bench.simulator import RHO, SUBJECTS, YARDSTICK, Work, ratios, same_model_simpy, table
from gateway.policies import registry
from loadgen.workload.sessions import Customers
from simulator.scenario import FifoServer, Scenario
from simulator.simulation import simulate
from tests.simulator.scenes import ENDLESS


def test_ratios_are_taken_within_a_round():
    scores = {
        YARDSTICK: [Work(100, 600), Work(200, 1200), Work(400, 2400)],
        "M/M/1, Doorbuster": [Work(300, 600), Work(400, 800), Work(2000, 4000)],
        "LIFO-Pri": [Work(30, 240)] * 3,
    }
    assert ratios(scores["M/M/1, Doorbuster"], scores[YARDSTICK]) == [3.0, 2.0, 5.0]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(table(scores))
    lines = captured.get().splitlines()
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in lines]
    assert ["M/M/1, Doorbuster", "400", "800", "3.00", "2.00–5.00"] in rows
    assert ["LIFO-Pri", "30", "240"] in [row[:3] for row in rows]


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_subject_runs(name, monkeypatch):
    monkeypatch.setattr("bench.simulator.SIZE", 0.01)
    work = SUBJECTS[name](1)
    assert work.requests >= 80
    assert work.events >= 2 * work.requests


def test_the_same_model_in_simpy_is_the_same(monkeypatch):
    """Its customers are answered when the simulator's are."""
    monkeypatch.setattr("bench.simulator.SIZE", 0.02)
    from bench.simulator import SINGLE_REQUESTS

    responses_s: list[float] = []
    work = same_model_simpy(3, responses_s)
    ours = simulate(
        Scenario(
            customers=Customers(SINGLE_REQUESTS, 3, RHO),
            policy=registry.create("sq", {"capacity": ENDLESS}),
            server=FifoServer(capacity_rps=1.0, service_times="exponential"),
            seed=3,
            sessions=work.requests,
        )
    ).sessions
    times_s = zip(ours.arrived_s, ours.ended_s, strict=True)
    assert responses_s == pytest.approx([ended_s - arrived_s for arrived_s, ended_s in times_s])
