"""One simulation of a scenario: one policy in one scenario, as plain values.

Owns: the description of a case, its identity, what is kept of a simulation.
Must not know: how cases are spread over cores, what figures make of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from lab.experiments import own_policies
from lab.experiments.capacity import computed
from lab.experiments.leaderboard.bound import reachable_ratio
from lab.experiments.leaderboard.hysteresis import course_of
from lab.experiments.outcomes import outcomes_of
from lab.experiments.reproduction.cases import identity
from lab.experiments.results import PlannedRun
from lab.experiments.simulated_run import fallen_back, scenario_of, server_of
from lab.experiments.spec import Spec, changed
from loadgen.attempts import AttemptLog
from simulator.simulation import simulate

Watched = Literal["efficiency", "course"]
"""What is kept: how much was sold, or response times and queue second by second."""


@dataclass(frozen=True)
class ScenarioCase:
    """A simulation without its seed."""

    scenario: str
    spec: Mapping[str, Any]
    """`Spec.plain()` of one policy and one ρ; its seed and repetitions are not used."""
    watched: Watched
    own: Sequence[str] = ()
    """The texts of students' policies, which may be nowhere else on the machine that makes it."""

    @classmethod
    def of(cls, scenario: str, spec: Spec, policy: str, watched: Watched) -> "ScenarioCase":
        """The case of the policy that `spec` calls so."""
        choice = spec.choice(policy).model_dump(mode="json", exclude_none=True)
        alone = changed(spec, policy=[choice], seed=1, repetitions=1, title="Scenario")
        own = [file.text for file in own_policies.of_spec(alone)]
        return cls(scenario, alone.plain(), watched, own)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "ScenarioCase":
        """The case that `as_json` described."""
        return cls(**plain)

    def as_json(self) -> dict[str, Any]:
        """All values, JSON-ready."""
        return asdict(self)

    @cached_property
    def id(self) -> str:
        """Equal for equal cases, on every machine."""
        return identity(self.as_json())

    @property
    def kind(self) -> str:
        """Cases of a kind take about the same time per request."""
        return "scenario"

    def expected_requests(self) -> float:
        """About how many requests are made: what decides how long it takes."""
        spec = self._spec
        rate = spec.customers.as_model().session_rate(
            1.0, computed(spec, server_of(spec)).median_rps
        )
        mean = spec.customers.as_model().mean_requests()
        return mean * spec.load.expected_sessions(rate)

    def shortened(self, factor: float) -> "ScenarioCase":
        """The same for a part of its time, to see how long it takes."""
        load = self._spec.load
        if load.schedule:
            plain: dict[str, Any] = {
                "schedule": [
                    {"duration_s": max(1.0, step.duration_s * factor), "rho": step.rho}
                    for step in load.schedule
                ]
            }
        else:
            plain = {"rho": load.rho, "sessions": max(1, round((load.sessions or 1) * factor))}
        return replace(self, spec=changed(self._spec, load=plain).plain())

    @cached_property
    def _spec(self) -> Spec:
        own_policies.remember(self.own)
        return Spec.model_validate(self.spec)

    def simulate(self, seed: int) -> dict[str, Any]:
        """Make it; its metrics, JSON-ready."""
        spec = self._spec
        planned = PlannedRun(1, spec.policy[0].key, spec.load.rhos[0], seed)
        capacity_rps = computed(spec, server_of(spec)).median_rps
        log = AttemptLog()
        scenario = scenario_of(spec, planned, capacity_rps)
        simulated = simulate(scenario, log=log)
        given_up = fallen_back(spec.policy[0], scenario)
        attempts = log.table()
        if self.watched == "course":
            course = course_of(attempts, simulated.samples, spec.load.arrivals_s or 0.0)
            return {**course, **given_up}
        outcomes = outcomes_of(
            attempts, spec.load.offered(planned.rho), reachable_ratio(spec, planned.rho)
        )
        return {
            "estimated": outcomes.estimated_efficiency_ratio,
            "counted": outcomes.revenue_efficiency_ratio,
            "confirms": outcomes.confirms,
            "sessions": outcomes.sessions,
            **given_up,
        }


def simulate_scenario(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate `task["case"]` with `task["seed"]`; its metrics. A pure function of its input."""
    return ScenarioCase.from_json(task["case"]).simulate(task["seed"])
