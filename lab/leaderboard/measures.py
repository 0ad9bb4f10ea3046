"""Simulate a case, and calculate the metrics that the leaderboard's reports need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.analysis.bound import CapacityBound
from lab.analysis.hysteresis import course_of
from lab.analysis.outcomes import outcomes_of
from lab.engines.simulated.run import fallen_back, scenario_of
from lab.results.metrics import Metrics, Results
from lab.spec import own_policies
from lab.spec.cases import Case
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from loadgen.records.attempt_log import AttemptLog
from simulator.scenario import SharedCpus
from simulator.simulation import simulate

EFFICIENCY = "leaderboard:efficiency"
"""The metrics of sales, compared with the bound."""
COURSE = "leaderboard:course"
"""The metrics of response times and the queue for each second of the run."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cases with a row for each policy and a column for each condition, such as a load."""

    cases: Mapping[str, Mapping[Any, Case[ShopRun]]]
    """The cases by policy and condition."""

    def all_cases(self) -> list[Case[ShopRun]]:
        return [case for row in self.cases.values() for case in row.values()]

    def means(self, results: Results, policies: Iterable[str]) -> list[list[float | None]]:
        """Return the mean estimated efficiency of each cell, in rows for these policies."""
        return [
            [results.mean(case, estimated) for case in self.cases[policy].values()]
            for policy in policies
        ]


def case_of(spec: Spec, policy: str, measure: str) -> Case[ShopRun]:
    """Return the case of a policy of `spec` at the spec's first load."""
    run = ShopRun.of_spec(spec, policy, spec.load.rhos[0])
    own = [file.text for file in own_policies.of_choices([run.policy])]
    return Case(run, measure, tuple(own))


def estimated(metrics: Metrics) -> float | None:
    """Return the share of the bound that the sales are expected to reach. The expectation assumes
    that the shop serves the same share of the requests for each page as in this simulation. Return
    None if no customer planned to buy."""
    share: float | None = metrics["estimated"]
    return share


def _efficiency(case: Case[ShopRun], seed: int, log: AttemptLog | None) -> dict[str, Any]:
    run, log = case.run, AttemptLog() if log is None else log
    scenario = scenario_of(run, seed)
    simulate(scenario, log=log)
    outcomes = outcomes_of(log.table(), run.offered_rho, _bound_of(run))
    return {
        "estimated": outcomes.estimated_efficiency_ratio,
        "counted": outcomes.revenue_efficiency_ratio,
        "confirms": outcomes.confirms,
        "bound": outcomes.confirm_bound,
        "sessions": outcomes.sessions,
        **fallen_back(run, scenario),
    }


def _bound_of(run: ShopRun) -> CapacityBound:
    assert isinstance(run.server, SharedCpus)
    assert run.capacity_rps is not None
    return CapacityBound(
        run.session_model, run.capacity_rps, run.server.mean_execution_s, run.slower_ratio
    )


def _course(case: Case[ShopRun], seed: int, log: AttemptLog | None) -> dict[str, Any]:
    run, log = case.run, AttemptLog() if log is None else log
    scenario = scenario_of(run, seed)
    simulated = simulate(scenario, log=log)
    course = course_of(log.table(), simulated.samples, run.arrivals_s or 0.0)
    return {**course, **fallen_back(run, scenario)}


MEASURES = {"efficiency": _efficiency, "course": _course}
"""The functions that calculate the metrics of a simulation, by name."""
