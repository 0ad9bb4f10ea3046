"""Find the live run in progress on this machine, and change its policy, its load or the shop."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from common.shared_settings import LONGEST_FAULT_S, SHORTEST_FAULT_S
from common.waiting import wait_until
from lab.engines.live import announcement, faults
from lab.engines.live.appliance import Appliance
from lab.engines.live.run import policy_call
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from lab.wording import factor_words
from runtime.settings import Settings

FAULT_WITHOUT_RUN = "No run is in progress. The next run ends this fault when it begins."
CHANGE_WITHOUT_RUN = "No run is in progress. The next run replaces this setting when it begins."
_TAKEN_OVER_WITHIN_S = 5.0
"""The real seconds to wait until the load generator has adopted a change of the load. The load
generator reports its load once a second.
"""


@dataclass(frozen=True, slots=True)
class RunsUnderWay:
    """A live experiment in progress, with its runs whose customers send requests now."""

    experiment: str
    """The name of the experiment's result folder."""
    title: str = ""
    """The title of the experiment; empty if its result is not in this results folder."""
    planned: PlannedRun | None = None
    run: RunFolder | None = None
    of: int = 0
    """The number of planned runs."""
    beside: tuple[tuple[PlannedRun, RunFolder], ...] = ()
    """All simultaneous runs, including `run`; empty if `run` is the only run in progress."""
    customers: Mapping[str, Any] = field(default_factory=dict)
    """The counts of the customers of `run` so far (`loadgen.tally`); empty at first."""
    spec: Spec | None = None
    """The spec of the experiment; None if its result is not in this results folder."""


def runs_under_way(lab: Settings) -> RunsUnderWay | None:
    """Return the live experiment that a process on this machine runs now, or None."""
    told = announcement.under_way(lab.state_dir)
    if not told:
        return None
    experiment = told[0]["experiment"]
    folder = ComparisonResult(lab.results_dir / experiment)
    try:
        plan, spec = folder.plan(), _spec(folder.path)
    except ExperimentError:  # its results are in another folder
        return RunsUnderWay(experiment)
    going = {one["run"] for one in told if one["experiment"] == experiment}
    begun = [
        (planned, run)
        for planned, run in ((planned, folder.run(planned)) for planned in plan)
        if run.path.name in going
    ]
    if spec.at_once:
        order = [choice.key for choice in spec.policy]
        begun = [one for one in begun if one[1].live_shop_file.is_file()]
        begun.sort(key=lambda one: order.index(one[0].policy))
    planned, run = begun[0] if begun else (None, None)
    return RunsUnderWay(
        experiment,
        spec.title,
        planned,
        run,
        of=len(plan),
        beside=tuple(begun) if spec.at_once else (),
        customers=_customers_of(told, run),
        spec=spec,
    )


def change(
    lab: Settings,
    action: Callable[[Appliance], object],
    *,
    done: str = "Applied",
    without_run: str = CHANGE_WITHOUT_RUN,
) -> str:
    """Change the appliance, and return a text with the time of the change. If no run is in
    progress, the text ends with `without_run`.

    Raises ExperimentError with the reason if the change is not possible.
    """
    going = runs_under_way(lab)
    if going is not None and going.beside:
        raise ExperimentError(
            "Several shops run at the same time. Each must keep its policy and its other "
            "settings; only the load can change."
        )
    has_run = going is not None and going.run is not None
    if going is not None and going.run is not None and going.run.proxy_file.is_file():
        raise ExperimentError(
            "A baseline proxy has replaced the gateway. Its settings cannot change during the run."
        )
    appliance = Appliance(lab)
    try:
        action(appliance)
    finally:
        appliance.close()
    words = _at(done)
    return words if has_run or not without_run else f"{words} {without_run}"


def cause_fault(lab: Settings, name: str, for_s: float) -> str:
    """Cause the fault with this name for `for_s` paper seconds. Return a text with the time.

    Raises ExperimentError with the reason if the fault cannot begin.
    """
    if name not in faults.NAMES:
        raise ExperimentError(f"fault: {name!r:.40} is unknown; allowed: {', '.join(faults.NAMES)}")
    if not SHORTEST_FAULT_S <= for_s <= LONGEST_FAULT_S:
        raise ExperimentError(
            f"duration: {for_s:g}; allowed: {SHORTEST_FAULT_S:g} to "
            f"{LONGEST_FAULT_S:g} paper seconds"
        )
    return change(
        lab,
        lambda appliance: appliance.slow_database(for_s),
        done="Begun",
        without_run=FAULT_WITHOUT_RUN,
    )


def change_load(lab: Settings, factor: float) -> str:
    """Change the rate of arriving customers in each run in progress. When the customers have
    adopted the change, return a text with the time and the new load. Raises ExperimentError with
    the reason if the change is not possible.
    """
    going = runs_under_way(lab)
    if going is None or going.run is None or going.planned is None:
        raise ExperimentError("No run is in progress, so no customers arrive.")
    if going.planned.rho is None:
        raise ExperimentError("This run is a closed loop, which has no rate of arrivals to change.")
    runs = [run for _, run in going.beside] or [going.run]
    try:
        for run in runs:
            run.set_load_factor(factor)
    except OSError as fault:
        raise ExperimentError(
            f"The load cannot be changed: {fault.filename}: {fault.strerror}."
        ) from None
    if not wait_until(
        lambda: _have_taken_over(lab, runs, factor), _TAKEN_OVER_WITHIN_S, every_s=0.1
    ):
        raise ExperimentError(
            f"The customers have not adopted the change within {_TAKEN_OVER_WITHIN_S:g} s (real "
            "time). The console's page Watch shows their present load."
        )
    return f"{_at('Applied')} Now {factor_words(factor, going.planned.rho)}."


def restore(lab: Settings) -> str:
    """Restore the policy, abandonment and load that the run had at its start, and end faults;
    return a text with the time. For simultaneous runs, only the load is restored, because their
    shops keep their policies. Raises ExperimentError with the reason if this is not possible. If
    the load of a single run cannot be restored, the function raises no exception, and the text has
    the reason.
    """
    going = runs_under_way(lab)
    if going is None or going.run is None or going.planned is None or going.spec is None:
        raise ExperimentError("No run is in progress, so nothing can be restored.")
    spec, choice = going.spec, going.spec.choice(going.planned.policy)

    def put_back(appliance: Appliance) -> None:
        appliance.gateway.call("PUT", "/policy", policy_call(choice))
        appliance.set_abandonment(spec.abandonment_of(choice))
        appliance.end_faults()

    if not going.beside:
        change(lab, put_back)
    if going.planned.rho is not None and load_factor_of(going.customers) != 1:
        try:
            change_load(lab, 1.0)
        except ExperimentError as fault:
            if going.beside:
                raise
            return f"{_at('Policy and abandonment were restored')} The load did not change: {fault}"
    return _at("As it began")


def load_factor_of(customers: Mapping[str, Any]) -> float:
    """Return the factor that is now applied to the rate of customers, read from their counts."""
    changes = customers.get("load_changes") or [{"factor": 1.0}]
    return float(changes[-1]["factor"])


def _have_taken_over(lab: Settings, runs: Sequence[RunFolder], factor: float) -> bool:
    told = announcement.under_way(lab.state_dir)
    of_runs = [next((one for one in told if _is_of(one, run)), None) for run in runs]
    if None in of_runs:
        raise ExperimentError("The run ended before the load changed.")
    if all(one and load_factor_of(one["customers"]) == factor for one in of_runs):
        return True
    if any(one and _all_have_come(one["customers"]) for one in of_runs):
        raise ExperimentError(
            "All customers of this run have arrived, so their rate can no longer change."
        )
    return False


def _customers_of(told: Sequence[Mapping[str, Any]], run: RunFolder | None) -> Mapping[str, Any]:
    found = (one["customers"] for one in told if run is not None and _is_of(one, run))
    return next(found, {})


def _all_have_come(customers: Mapping[str, Any]) -> bool:
    planned: int = customers.get("planned", 0)
    started: int = customers.get("started", 0)
    return 0 < planned <= started


def _is_of(told: Mapping[str, Any], run: RunFolder) -> bool:
    return (told["experiment"], told["run"]) == (run.experiment, run.path.name)


def _at(done: str) -> str:
    return f"{done} at {datetime.now(UTC):%H:%M:%S} UTC."


@cache
def _spec(folder: Path) -> Spec:
    """Return the spec of a result; it can be cached, because it never changes."""
    return ComparisonResult(folder).spec()
