"""The repetitions of one policy at one load (a cell), read from a result folder."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lab.analysis.bound import CapacityBound
from lab.analysis.outcomes import (
    Outcomes,
    after_warm_up,
    outcomes_of,
    response_times_s,
    started_after,
)
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import RunSummary
from lab.intervals import Estimate, estimate, estimate_known
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from lab.spec.sections import Customers, Load, PolicyChoice, SharedCpusServer
from lab.wording import title_of
from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.clients import KIND_PAGE, ClientSet
from loadgen.workload.sessions import FIRST_PAGE, MEAN_EXECUTION_S, PAGES

FIG7_LIMIT_S = 5.0
"""The limit on Br-1's response time in LIFO-Pri's text about Fig. 7, in paper seconds."""


SETS: tuple[ClientSet, ...] = ("control", "test")


class Part(NamedTuple):
    """A pair of a client set and a class of its requests."""

    clients: ClientSet
    kind: str


@dataclass(frozen=True, slots=True)
class Got:
    """The results of the requests of one class from one set of clients."""

    served: int
    latency_s: float | None
    """The mean latency of the served attempts, in paper seconds; None if no attempt was served."""
    p95_s: float | None
    left: int
    """The number of attempts whose client left before an answer."""
    turned_away: int
    """The number of attempts that were dropped, rejected, refused or failed."""


@dataclass(frozen=True, slots=True)
class Cell:
    """All repetitions of one policy at one ρ."""

    policy: str
    """The key of the policy in the spec."""
    rho: float | None
    """The offered load; 1 for a schedule, and None in a closed loop."""
    runs: tuple[Outcomes, ...]
    summaries: tuple[RunSummary, ...]
    quick_share: tuple[float, ...]
    """The share of Br-1 attempts answered within FIG7_LIMIT_S, per repetition."""
    clients: tuple[Mapping[Part, Got], ...]
    """The results of each client set by class, for each repetition of a closed loop; empty mappings
    for any other load."""
    published: str | None
    """The policy's name if `is_as_published`, otherwise None."""
    load: str
    """The offered load as text (for a schedule, the mean load); empty for a closed loop."""

    @property
    def title(self) -> str:
        """The policy's name as pages and tables print it."""
        return title_of(self.policy)

    @property
    def heading(self) -> str:
        """The load and the policy for the head of a column."""
        return f"ρ = {self.load} {self.title}" if self.load else self.title

    @property
    def place(self) -> str:
        """The policy and the load for sentences and rows."""
        return f"{self.title} at ρ = {self.load}" if self.load else self.title

    @property
    def confirms(self) -> int:
        """The number of confirms in all repetitions together."""
        return sum(run.confirms for run in self.runs)

    @property
    def bound(self) -> float:
        """The number of confirms that the bound allows in all repetitions together; 0 if no
        capacity is known."""
        return math.fsum(run.confirm_bound or 0.0 for run in self.runs)

    def over(self, figure: Callable[[Outcomes], float]) -> Estimate:
        """Return the mean and the interval of a metric over the repetitions."""
        return estimate([figure(run) for run in self.runs])

    def over_waste(self, figure: Callable[[Mapping[str, Any]], float | None]) -> Estimate | None:
        """Return the mean and the interval of a wasted-work metric, or None if no run has it."""
        return estimate_known(
            figure(summary.waste) for summary in self.summaries if summary.waste is not None
        )

    def over_clients(self, part: Part, figure: Callable[[Got], float | None]) -> Estimate | None:
        """Return the mean and the interval of a metric of one client set and class, or None if no
        run has it."""
        return estimate_known(figure(sets[part]) for sets in self.clients if part in sets)

    def over_known(self, figure: Callable[[Outcomes], float | None]) -> Estimate | None:
        """Return the mean and the interval over the repetitions that have the metric, or None if no
        repetition has it."""
        return estimate_known(map(figure, self.runs))

    def by_seed(self, figure: Callable[[Outcomes], float | None]) -> dict[int, float]:
        """Return the metric of each repetition that has it, by seed."""
        return {
            summary.seed: value
            for summary, run in zip(self.summaries, self.runs, strict=True)
            if summary.seed is not None and (value := figure(run)) is not None
        }


def wasted_percent(waste: Mapping[str, Any]) -> float | None:
    """Return the percentage of the server's CPU time that was wasted; None if it used no CPU."""
    whole = waste["server_cpu_s"]
    return 100 * waste["wasted_cpu_s"] / whole if whole else None


def read_cells(folder: ComparisonResult) -> list[Cell]:
    """Return the complete runs of an experiment as cells, ordered by ρ and then by policy as in the
    spec. Raises ExperimentError if a file is damaged, or if a run has no attempts after its
    warm-up."""
    spec = folder.spec()
    bound = bound_of(folder, spec)
    found: dict[tuple[float | None, str], list[tuple[Any, ...]]] = {}
    for planned, run in folder.whole_runs():
        attempts = counted_attempts(spec, run)
        by_part = by_class(attempts, spec.clients.per_set) if spec.clients else {}
        outcomes = outcomes_of(attempts, spec.load.offered(planned.rho), bound)
        times_s = response_times_s(attempts, FIRST_PAGE)
        quick = float(np.mean(times_s < FIG7_LIMIT_S)) if len(times_s) else 0.0
        repetition = (outcomes, run.summary(), quick, by_part)
        found.setdefault((planned.rho, planned.policy), []).append(repetition)
    cells = []
    for rho in spec.load.rhos:
        for policy in spec.policy:
            if repetitions := found.get((rho, policy.key)):
                runs, summaries, quick_share, clients = zip(*repetitions, strict=True)
                published = policy.name if is_as_published(spec, policy) else None
                load = load_words(spec.load, rho)
                cells.append(
                    Cell(policy.key, rho, runs, summaries, quick_share, clients, published, load)
                )
    return cells


def bound_of(folder: ComparisonResult, spec: Spec) -> CapacityBound | None:
    """Return the bound of a folder's runs, or None in a closed loop. Raises ExperimentError if the
    capacity is unknown or invalid."""
    capacity = folder.capacity(spec)
    return bound_of_spec(spec, capacity.best_rps) if capacity else None


def bound_of_spec(spec: Spec, capacity_rps: float) -> CapacityBound:
    """Return the bound of the runs of `spec`. With the page profiles `paper` and `real`, the bound
    uses the costs in LIFO-Pri's Table 2."""
    return CapacityBound(
        spec.customers.as_model(),
        capacity_rps,
        dict.fromkeys(PAGES, 1.0) if spec.page_profile == "cpu" else MEAN_EXECUTION_S,
        spec.server.execution_factor if isinstance(spec.server, SharedCpusServer) else 1.0,
    )


def counted_attempts(spec: Spec, run: RunFolder) -> pa.Table:
    """Return the attempts after the warm-up; raises ExperimentError if there are none."""
    left_out = started_after if spec.clients else after_warm_up
    attempts = left_out(run.attempts(), spec.warm_up_s)
    if not attempts.num_rows:
        raise ExperimentError(
            f"{run.path}: warm_up_s: {spec.warm_up_s:g}: all "
            f"{'requests began' if spec.clients else 'sessions arrived'} before this time, so none "
            "is counted. Give the run more time, or set a smaller warm_up_s."
        )
    return attempts


def load_words(load: Load, rho: float | None) -> str:
    """Return the offered load as text, `1.4` or `1.37 (schedule)`; empty for a closed loop."""
    if rho is None:
        return ""
    return f"{load.offered(rho):.3g} (schedule)" if load.schedule else f"{rho:g}"


def is_as_published(spec: Spec, policy: PolicyChoice) -> bool:
    """Return whether the customers, the server and the policy's parameters are those of LIFO-Pri's
    Tables 4 and 5. The policy or ρ can still be missing in the tables."""
    return (
        policy.is_pure_queueing
        and policy.gateway is None
        and not policy.parameters
        and spec.clients is None
        and spec.customers == Customers()
        and spec.load.schedule is None
        and spec.load.arrivals is None
        and spec.page_profile == "paper"
        and spec.abandonment_of(policy) == "ignore"
        and spec.catalogue_books is None
        and spec.database_cpus == "other"
        and spec.at_once != "crowded"
        and spec.server in (None, SharedCpusServer())
    )


def by_class(attempts: pa.Table, control_clients: int) -> Mapping[Part, Got]:
    """Return the results for each combination of set and class that occurs. Clients 0 …
    `control_clients` − 1 are the control set."""
    is_control = pc.less(attempts.column("session"), control_clients)
    sets = {"control": attempts.filter(is_control), "test": attempts.filter(pc.invert(is_control))}
    found = {}
    for clients in SETS:
        for kind, page in KIND_PAGE.items():
            own = sets[clients].filter(pc.equal(sets[clients].column("page"), page))
            if own.num_rows:
                found[Part(clients, kind)] = _got(own)
    return found


def _got(attempts: pa.Table) -> Got:
    outcome = attempts.column("outcome").to_numpy(zero_copy_only=False)
    times_s = attempts.column("finished_s").to_numpy() - attempts.column("started_s").to_numpy()
    times_s = times_s[outcome == AttemptOutcome.COMPLETED]
    left = int(np.count_nonzero(outcome == AttemptOutcome.TIMED_OUT))
    return Got(
        served=len(times_s),
        latency_s=float(times_s.mean()) if len(times_s) else None,
        p95_s=float(np.percentile(times_s, 95)) if len(times_s) else None,
        left=left,
        turned_away=len(outcome) - len(times_s) - left,
    )
