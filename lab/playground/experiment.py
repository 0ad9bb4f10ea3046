"""The experiment of the playground, which receives a visitor's choices and returns plain values.

This module and its imports need only the standard library, because they also run in a visitor's
browser (Pyodide). Times are paper seconds.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from gateway.policies import ADMISSIONS, POLICIES, registry
from gateway.policies.interface import PAGES, Policy
from lab.analysis.bound import CapacityBound
from loadgen.records.attempts import Attempt, AttemptOutcome
from loadgen.workload.load_schedule import Schedule, Segment
from loadgen.workload.sessions import CONFIRM_PAGE, Customers, SessionModel
from simulator.scenario import Scenario, SharedCpus, server_capacity_rps
from simulator.simulation import Simulated, simulate


@dataclass(frozen=True, slots=True)
class Slider:
    """A slider with which a visitor sets a number."""

    name: str
    label: str
    low: float
    high: float
    step: float
    default: float
    unit: str
    meaning: str


SLIDERS: Final = (
    Slider("rho", "Offered load ρ", 0.5, 4, 0.05, 1.4, "",
           "The work that the customers request, divided by the work that the server can do. At 1, "
           "the server has just enough capacity."),
    Slider("sessions", "Customers", 100, 3000, 100, 1000, "",
           "The number of sessions that arrive; each requests one to seven pages."),
    Slider("timeout_s", "Patience, shortest", 1, 60, 1, 8, "s",
           "Every customer waits at least this long for a page."),
    Slider("think_timeout_mean_s", "Patience, mean extra", 0, 60, 1, 12, "s",
           "The mean of the additional time that each customer waits (exponentially distributed)."),
    Slider("retry_probability", "Retries", 0, 1, 0.05, 0.4, "",
           "The probability that a customer who loses patience requests the page again."),
    Slider("think_time_mean_s", "Think time, mean", 0, 30, 1, 0, "s",
           "The mean pause before each page except the first."),
    Slider("seed", "Seed", 1, 100, 1, 1, "",
           "A different seed gives different customers; both policies always have the same "
           "customers."),
)  # fmt: skip
SHAPES: Final = {
    "steady": "The load stays the same",
    "rush": "A one-minute rush at this load, with ρ = 0.8 before and after it",
}
RUSH_FROM_S: Final = 120.0
RUSH_UNTIL_S: Final = 180.0
END_S: Final = 420.0
CALM_RHO: Final = 0.8

_ADMISSION_FREE: Final = "none"
_CURVE_POINTS_S: Final = tuple(range(41))


class ChoiceError(ValueError):
    """The error for an invalid choice; its message names the field, the refused value and the
    allowed values.
    """


def choices() -> dict[str, Any]:
    """Return the possible choices as JSON-ready values: policies, admissions, load shapes, sliders
    and pages."""
    return {
        "policies": [_described(registry.sheet(name)) for name in POLICIES],
        "admissions": [_described(registry.admission_sheet(name)) for name in ADMISSIONS],
        "shapes": SHAPES,
        "sliders": [asdict(slider) for slider in SLIDERS],
        "pages": [str(page) for page in PAGES],
    }


def _described(sheet: Any) -> dict[str, str]:
    return {"name": sheet.name, "title": sheet.title or sheet.name, "idea": sheet.idea}


def run(choice: Mapping[str, Any], own: Policy | None = None) -> dict[str, Any]:
    """Simulate the policy that a visitor chose, or the `own` policy that the visitor wrote.

    Returns JSON-ready values: `metrics`, `samples` (columns with one value per second) and
    `unanswered` (the shares of attempts not answered within 0, 1, … 40 s). Raises ChoiceError if a
    choice is invalid.
    """
    scenario = scenario_of(choice, own)
    attempts: list[Attempt] = []
    simulated = simulate(scenario, log=attempts)
    return {
        "metrics": _metrics(scenario, simulated, attempts),
        "samples": _samples(simulated),
        "unanswered": _unanswered(attempts),
    }


def scenario_of(choice: Mapping[str, Any], own: Policy | None = None) -> Scenario:
    """Return the simulation that a visitor chose, with the `own` policy if there is one. Raises
    ChoiceError if a choice is invalid."""
    values = {slider.name: _number(choice, slider) for slider in SLIDERS}
    shape = choice.get("shape", "steady")
    if shape not in SHAPES:
        raise ChoiceError(f"shape: {shape!r:.40}; allowed: {' or '.join(SHAPES)}")
    is_rush = shape == "rush"
    server = SharedCpus()
    model = SessionModel(
        timeout_s=values["timeout_s"],
        think_timeout_mean_s=values["think_timeout_mean_s"],
        retry_probability=values["retry_probability"],
        think_time_mean_s=values["think_time_mean_s"],
    )
    capacity_rps = server_capacity_rps(model, server)
    rush = Schedule(
        (
            Segment(RUSH_FROM_S, CALM_RHO),
            Segment(RUSH_UNTIL_S - RUSH_FROM_S, values["rho"]),
            Segment(END_S - RUSH_UNTIL_S, CALM_RHO),
        )
    )
    seed = int(values["seed"])
    rate = model.session_rate(1.0 if is_rush else values["rho"], capacity_rps)
    return Scenario(
        customers=Customers(model, seed, rate, rush if is_rush else None),
        policy=_policy(choice) if own is None else own,
        server=server,
        seed=seed,
        sessions=None if is_rush else int(values["sessions"]),
    )


def _policy(choice: Mapping[str, Any]) -> Policy:
    policy, admission = choice.get("policy", ""), choice.get("admission", _ADMISSION_FREE)
    for field, name, known in (("policy", policy, POLICIES), ("admission", admission, ADMISSIONS)):
        if name not in known:
            raise ChoiceError(f"{field}: {name!r:.40}; allowed: {', '.join(known)}")
    return registry.create(policy, {}, admission)


def _number(choice: Mapping[str, Any], slider: Slider) -> float:
    given = choice.get(slider.name, slider.default)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not slider.low <= given <= slider.high:
        raise ChoiceError(
            f"{slider.name}: {given!r:.40}; allowed: a number from {slider.low:g} to "
            f"{slider.high:g}"
        )
    return float(given)


def _metrics(
    scenario: Scenario, simulated: Simulated, attempts: list[Attempt]
) -> dict[str, float | None]:
    assert isinstance(scenario.server, SharedCpus)
    planned = dict.fromkeys(map(str, PAGES), 0)
    planned |= Counter(one.page for one in attempts if one.attempt <= 1)
    completed = [one for one in attempts if one.outcome == AttemptOutcome.COMPLETED]
    arrivals_s = [one.intended_s for one in attempts if one.step == 0 and one.attempt == 1]
    starts_s = [one.started_s for one in attempts if one.started_s is not None]
    ends_s = [one.finished_s for one in attempts if one.finished_s is not None]
    duration_s = max(ends_s) - min(starts_s)
    last_answer_s = max((one.finished_s or 0.0 for one in completed), default=0.0)
    working_s = max(last_answer_s, max(map(_known, arrivals_s))) - min(map(_known, arrivals_s))
    model = scenario.customers.model
    assert isinstance(model, SessionModel)
    bound = CapacityBound(
        model, server_capacity_rps(model, scenario.server), scenario.server.mean_execution_s
    )
    reachable = planned[CONFIRM_PAGE] * bound.reachable_ratio(planned, working_s)
    confirms = sum(one.page == CONFIRM_PAGE for one in completed)
    return {
        "sessions": len(simulated.sessions),
        "requests": len(completed),
        "completed_ratio": len(completed) / sum(planned.values()),
        "confirms": confirms,
        "planned_confirms": planned[CONFIRM_PAGE],
        "confirm_bound": reachable,
        "revenue_efficiency_ratio": confirms / reachable if reachable else None,
        "throughput_rps": len(completed) / duration_s if duration_s else 0.0,
        "wasted_ratio": simulated.wasted_busy_s / simulated.busy_s if simulated.busy_s else 0.0,
        "duration_s": duration_s,
    }


def _known(time_s: float | None) -> float:
    assert time_s is not None
    return time_s


def _samples(simulated: Simulated) -> dict[str, list[Any]]:
    columns = ("time_s", "in_service", "waiting", "confirms_total", "answered_total")
    lost = ("dropped_total", "rejected_total", "orphaned_total", "withdrawn_total")
    samples = simulated.samples
    return {
        **{column: samples[column] for column in columns},
        **{column: samples[column] for column in lost},
        **{f"waiting_{page}": samples[f"waiting_{page}"] for page in PAGES},
    }


def _unanswered(attempts: list[Attempt]) -> list[float]:
    times_s = sorted(_response_times_s(attempts))
    return [1 - bisect_right(times_s, time_s) / len(times_s) for time_s in _CURVE_POINTS_S]


def _response_times_s(attempts: list[Attempt]) -> Iterator[float]:
    for one in attempts:
        if one.outcome == AttemptOutcome.COMPLETED:
            yield _known(one.finished_s) - _known(one.started_s)
        elif one.attempt > 0:
            yield math.inf
