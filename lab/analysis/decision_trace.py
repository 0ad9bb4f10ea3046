"""The decision trace of one attempt: why it waited, was served or was turned away.

`explain` runs the simulation again and observes the policy. The same spec and seed give exactly the
same run. `explain` compares the attempts of the repeated simulation with those of the original run.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gateway.policies.interface import (
    Cancel,
    Dispatch,
    LoadSample,
    Outcome,
    Policy,
    Request,
    Verdicts,
)
from gateway.policies.trace import Recorded
from lab.engines.simulated.run import scenario_of
from lab.errors import ExperimentError
from lab.files.run_summary import PlannedRun
from lab.results.comparison import ComparisonResult
from lab.spec.runs import ShopRun
from loadgen.records.attempt_log import AttemptLog
from simulator.simulation import simulate

PREFERRED_KEPT = 12
"""The maximum number of decisions in favour of other requests that the trace describes in detail:
the latest ones. The trace only counts the earlier decisions.
"""

Knew = Mapping[str, Any]
"""A policy's snapshot.

At dispatch, the snapshot also has the values `place` (`oldest`, `newest`, `only` or `between`),
`of` (the length of the queue) and `before_it` (the number of older requests).
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The attempt to explain, identified by columns of attempts.parquet."""

    session: int
    step: int
    attempt: int
    page: str
    started_s: float


@dataclass(slots=True)
class DecisionTrace:
    """The path of one attempt through the policy; times are in paper seconds."""

    found: bool = False
    arrived_s: float | None = None
    knew_at_arrival: Knew = field(default_factory=dict)
    load: dict[str, float] | None = None
    """The last load sample that the policy had received when the request arrived."""
    refused: str = ""
    """`drop` or `reject` if the policy turned the request away; otherwise an empty text."""
    refused_s: float | None = None
    """The time at which the policy turned the request away: at arrival or after a wait."""
    reason: str = ""
    dispatched_s: float | None = None
    knew_at_dispatch: Knew = field(default_factory=dict)
    served_before: dict[str, int] = field(default_factory=dict)
    """The number of older requests that were dispatched while this request waited, by page type."""
    overtook: dict[str, int] = field(default_factory=dict)
    """The number of newer requests that were dispatched while this request waited, by page type."""
    preferred: list[dict[str, Any]] = field(default_factory=list)
    """The last decisions in favour of other requests; each has `time_s`, `page`, `came_s` and the
    snapshot `knew`."""
    disciplines: list[tuple[float, str]] = field(default_factory=list)
    """The discipline that was in force at arrival, and each change while the request waited."""
    left_s: float | None = None
    """The time at which the customer left."""
    withdrawn_s: float | None = None
    ended_s: float | None = None
    outcome: str = ""
    """The outcome of the request on the server; empty if the request was not dispatched."""
    same_run: bool = True
    """Whether the repeated simulation has the same attempts as the original run."""


class TracingPolicy(Recorded):
    """A wrapper that behaves like its policy and records the decision trace of one attempt."""

    def __init__(self, policy: Policy, wanted: Wanted) -> None:
        super().__init__(policy)
        self.trace = DecisionTrace()
        self._wanted = wanted
        self._id: int | None = None
        self._waits = False
        self._beside: dict[int, Request] = {}
        """The waiting requests, including the wanted attempt."""
        self._knew: dict[str, Any] = {}
        self._load: LoadSample | None = None

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        if self._is_wanted(time_s, request):
            self._id, self._waits = request.id, True
            self._beside = {one.id: one for one in self.policy.waiting()}
            self._knew = dict(self.policy.snapshot())
        if self._waits:
            self._beside[request.id] = request
        return super().arrival(time_s, request)

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        if self._waits:
            self._knew = dict(self.policy.snapshot())
        return super().workers_free(time_s, free)

    def _is_wanted(self, time_s: float, request: Request) -> bool:
        wanted = self._wanted
        return (
            self._id is None
            and time_s == wanted.started_s
            # A customer without a cookie has a different session name in each attempt, for example
            # `17.2`.
            and (request.session or "").split(".")[0] == str(wanted.session)
            and request.page == wanted.page
            and request.attempt == wanted.attempt
        )

    def _place(self) -> dict[str, Any]:
        one_for_all = self._wanted.page not in self._knew.get("queues", {})
        line = [
            one.id for one in self._beside.values() if one_for_all or one.page == self._wanted.page
        ]
        before = sum(id < (self._id or 0) for id in line)
        names = {0: "oldest", len(line) - 1: "newest"}
        place = "only" if len(line) == 1 else names.get(before, "between")
        return {"place": place, "of": len(line), "before_it": before}

    def _keep(
        self, name: str, time_s: float, told: tuple[Any, ...], verdicts: Verdicts
    ) -> Verdicts:
        """Record the events of the wanted attempt, and every decision while it waits."""
        trace = self.trace
        if name == "load_sample":
            self._load = told[0]
        if self._id is None:
            return verdicts
        if name == "arrival" and told[0].id == self._id:
            trace.found, trace.arrived_s, trace.knew_at_arrival = True, time_s, self._knew
            trace.load = asdict(self._load) if self._load else None
            trace.disciplines.append((time_s, str(self._knew.get("discipline", ""))))
        elif name == "completion" and told[0] == self._id:
            outcome: Outcome = told[1]
            trace.ended_s, trace.outcome = time_s, outcome.value
        elif name == "abandonment" and told[0] == self._id:
            trace.left_s = time_s
        elif name == "withdraw":
            self._beside.pop(told[0], None)
            if told[0] == self._id:
                trace.withdrawn_s, self._waits = time_s, False
        if self._waits:
            self._decided(time_s, verdicts)
        return verdicts

    def _decided(self, time_s: float, verdicts: Verdicts) -> None:
        assert self._id is not None  # the request waits
        trace = self.trace
        discipline = str(self.policy.snapshot().get("discipline", ""))
        if discipline != trace.disciplines[-1][1]:
            trace.disciplines.append((time_s, discipline))
        for verdict in verdicts:
            kind = type(verdict).__name__.lower()
            if verdict.id == self._id:
                self._waits = False
                if isinstance(verdict, Dispatch):
                    trace.dispatched_s = time_s
                    trace.knew_at_dispatch = {**self._knew, **self._place()}
                elif isinstance(verdict, Cancel):  # the policy took the request out of its queue
                    trace.withdrawn_s = time_s
                else:
                    trace.refused, trace.refused_s, trace.reason = kind, time_s, verdict.reason
                return
            other = self._beside.pop(verdict.id, None)
            if kind == "dispatch" and other is not None:
                counted = trace.served_before if other.id < self._id else trace.overtook
                counted[other.page.value] = counted.get(other.page.value, 0) + 1
                page, came_s = other.page.value, other.arrived_s
                trace.preferred.append(
                    {"time_s": time_s, "page": page, "came_s": came_s, "knew": self._knew}
                )
                del trace.preferred[:-PREFERRED_KEPT]


def explain(folder: ComparisonResult, planned: PlannedRun, wanted: Wanted) -> DecisionTrace:
    """Run the simulation again, which takes as long as the first time, and return the decision
    trace of the attempt `wanted`. Raises ExperimentError if the run was not simulated or its logs
    are damaged."""
    spec = folder.spec()
    if spec.engine != "simulated":
        raise ExperimentError(
            f"engine: {spec.engine!r}: a decision trace needs a run that can be repeated exactly; "
            "allowed: 'simulated'"
        )
    run = ShopRun.of_spec(spec, planned.policy, planned.rho, folder.capacity_rps())
    scenario = scenario_of(run, planned.seed)
    watched = TracingPolicy(scenario.policy, wanted)
    log = AttemptLog()
    simulate(replace(scenario, policy=watched), log=log)
    watched.trace.same_run = log.table().equals(folder.run(planned).attempts())
    return watched.trace
