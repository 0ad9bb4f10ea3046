"""The cost of a connection (eDragon's CTN and CTO), measured by static profiling in virtual time
(Guitart et al., 2008, section 3.2.1).
"""

from typing import NamedTuple

from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import Schedule, Segment
from simulator.hosting import simulate_platform
from simulator.hosting_scenario import AppScenario, Costs, PlatformScenario
from simulator.scenario import ScenarioError

LOAD_RATIO = 0.3
"""The load during the measurement, as a share of one processor: so low that no customer leaves."""

SESSIONS = 2000


class ConnectionProfile(NamedTuple):
    """The CPU seconds per new connection (CTN) and per resumed connection (CTO), with their
    requests.
    """

    ctn_s: float
    cto_s: float


def static_profile(
    model: PartlyOpenModel,
    costs: Costs | None = None,
    *,
    persistence_s: float = 10.0,
    seed: int = 0,
    sessions: int = SESSIONS,
) -> ConnectionProfile:
    """Measure both costs with about `sessions` sessions and without admission control.

    Raises `ScenarioError` if a value is invalid, or no connection is resumed, so that CTO cannot be
    measured.
    """
    costs = costs or Costs()
    rate_ps = LOAD_RATIO / costs.session_s
    arrive_s = sessions / rate_ps
    longest_s = model.interactions_most * (model.think_time_mean_s + persistence_s)
    found = simulate_platform(
        PlatformScenario(
            (AppScenario(model, Schedule((Segment(arrive_s, rate_ps),))),),
            seed,
            processors=1,
            provisioning="static",
            admission="none",
            costs=costs,
            persistence_s=persistence_s,
            duration_s=arrive_s + 2 * longest_s,
        )
    )[0]
    if not found.resumed_connections_served:
        raise ScenarioError(
            "model", "no connection is resumed; use longer sessions or longer think times"
        )
    return ConnectionProfile(
        found.new_connections_busy_s / found.new_connections_served,
        found.resumed_connections_busy_s / found.resumed_connections_served,
    )
