"""Traces recorded from simulations of LIFO-Pri's server, overloaded, with impatient customers.

`python -m tests.gateway.policies.simulated_trace` writes the committed traces again, which is right
only after a change that is meant to change verdicts.
"""

from pathlib import Path

from common.page_types import CAPACITY_RPS
from gateway.policies import Abandonment, trace
from gateway.policies.interface import Policy
from loadgen.workload.sessions import Customers, SessionModel
from simulator.scenario import Scenario, SharedCpus
from simulator.simulation import simulate
from tests.gateway.policies import trace_file
from tests.gateway.policies.combinations import fresh

FOLDER = Path(__file__).parent / "traces"
COMMITTED = ("8q-lifo-pri+sbac-hybrid", "sq+sbac-predictive")
COMMITTED_SESSIONS = 150

SERVER = SharedCpus()
RHO = 1.4


def recorded(
    policy: Policy,
    sessions: int,
    seed: int = 1,
    server: SharedCpus = SERVER,
    abandonment: Abandonment = "ignore",
) -> list[trace.Event]:
    """Return the events and verdicts of `policy` in a simulation of `sessions` sessions."""
    model = SessionModel(timeout_s=1.0, think_timeout_mean_s=3.0, think_time_mean_s=1.0)
    recorder = trace.Recorded(policy)
    customers = Customers(model, seed, model.session_rate(RHO, CAPACITY_RPS))
    scenario = Scenario(
        customers, recorder, server, seed, sessions=sessions, abandonment=abandonment
    )
    simulate(scenario)
    return recorder.events


if __name__ == "__main__":
    for name in COMMITTED:
        trace_file.write(FOLDER / f"{name}.jsonl", recorded(fresh(name), COMMITTED_SESSIONS))
