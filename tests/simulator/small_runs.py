"""Small simulations of every kind, as a program that prints a line of JSON for each.

Only the hosting platform needs numpy; without it, its line is missing.
"""

import contextlib
import importlib
import json
import pkgutil
from dataclasses import asdict

import gateway.policies
import simulator
from gateway.policies import ADMISSIONS, POLICIES
from gateway.policies.registry import create
from loadgen.records.attempts import Attempt
from loadgen.workload.clients import ClientModel, Clients
from loadgen.workload.sessions import MEAN_EXECUTION_S
from simulator.draws_ahead import HAS_NUMPY
from simulator.scenario import Scenario, SharedCpus
from simulator.simulation import simulate
from tests.simulator.scenes import lifo_pri, sbac


def main() -> None:
    """Import every module of the policies and of the simulator, and simulate."""
    for package in (gateway.policies, simulator):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            with (
                contextlib.nullcontext() if HAS_NUMPY else contextlib.suppress(ModuleNotFoundError)
            ):
                importlib.import_module(module.name)
    for name in POLICIES:
        attempts: list[Attempt] = []
        found = simulate(lifo_pri(policy=name, sessions=100), log=attempts)
        show(name, [asdict(found), attempts])
    for name in ADMISSIONS:
        show(f"sq+{name}", asdict(simulate(sbac(admission=name, arrivals_until_s=20.0))))
    clients = Scenario(
        Clients(ClientModel(), 1),
        create("sq", {}),
        SharedCpus(mean_execution_s={**MEAN_EXECUTION_S, "file": 0.02}),
        seed=1,
        arrivals_until_s=120.0,
        abandonment="cancel",
    )
    show("clients", asdict(simulate(clients)))
    if HAS_NUMPY:
        from simulator.hosting import simulate_platform
        from tests.simulator.hosting_scenes import short

        platform = simulate_platform(short(6.0, 4.0, duration_s=30.0))
        show("platform", [asdict(each) for each in platform])


def show(name: str, found: object) -> None:
    """Write the result of a simulation, to the last digit."""
    print(json.dumps([name, found], default=lambda array: array.tolist()))


if __name__ == "__main__":
    main()
