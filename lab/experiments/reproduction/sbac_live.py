"""SBAC on the appliance: the gateway in front of the shop, the strategies against none.

Owns: its specs, cases, figures and claims. Must not know: how a run is made.
"""

import math
from collections.abc import Sequence

from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.claims import Claim, within
from lab.experiments.reproduction.exhibits import CaseCurve, Exhibit, Panel, Study
from lab.experiments.reproduction.store import Metrics, Value
from lab.experiments.spec import Spec, changed, load_spec
from lab.experiments.titles import title_of

MEANS = (5, 15)
LOADS = (0.8, 1.0, 1.5, 2.0, 3.0)
QUICK_LOADS = (1.0, 2.0)
SHIPPED_SPEC = "sbac-live"
"""Its policies and customers are used: LIFO-Pri's patience, think time 5 s, ac-interval 10 s."""


def spec(mean: float, loads: Sequence[float], *, seed: int, repetitions: int) -> Spec:
    """The comparison for sessions of `mean` requests."""
    return changed(
        load_spec(SHIPPED_SPEC),
        title=f"SBAC live, sessions of {mean:g} requests",
        load__rho=list(loads),
        customers__lengths={"kind": "geometric", "mean": mean},
        seed=seed,
        repetitions=repetitions,
    )


def keys() -> list[str]:
    """The policies of the comparison, none first."""
    return [choice.key for choice in load_spec(SHIPPED_SPEC).policy]


def case(key: str, mean: float, load: float) -> Case:
    """What a run of policy `key` is called here; it is never simulated."""
    shipped = load_spec(SHIPPED_SPEC)
    choice = shipped.choice(key)
    return Case(
        policy=choice.name,
        parameters=choice.parameters,
        admission=choice.admission,
        admission_parameters=choice.admission_parameters,
        capacity_rps=1.0,  # of the shop, measured before the runs
        server={"kind": "shop"},
        customers={},
        lengths={"kind": "geometric", "mean": mean},
        rho=load,
        duration_s=shipped.load.duration_s,
    )


def study(loads: Sequence[float]) -> Study:
    """Figures 6 and 7a as far as a shop can show them, and what must hold."""
    return Study(
        paper="sbac",
        title="SBAC live: session-based admission control in front of a shop",
        summary=(
            "Doorbuster's gateway in front of its shop, sessions of 5 and 15 requests on average "
            "at loads of up to 300 %: no admission control against the four strategies of "
            "Cherkasova and Phaal.",
            "The customers have LIFO-Pri's patience (8 s + Exp(12 s), retries with p = 0.4) and "
            "think 5 s on average between pages. The shop serves about six requests a paper "
            "second, so that an ac-interval of 1 s would hold six requests: it is 10 s here. "
            "The gateway answers rejections itself; they cost the shop nothing, and "
            "sbac-predictive knows it (rejection_cost 0).",
        ),
        exhibits=[_figures(mean, loads) for mean in MEANS],
        claims=_claims() if 2.0 in loads else [],
        readings=(
            ("Beside the paper", "Server, customers and ac-interval are not the paper's, so its "
             "values are not printed here; `doorbuster reproduce sbac` simulates them."),
            ("The end of a run", "Sessions arrive for 500 paper seconds; then everybody finishes. "
             "Throughput counts those that had completed by the end of the arrivals, so that an "
             "empty start and an end in full swing lower it."),
        ),
    )  # fmt: skip


def _figures(mean: float, loads: Sequence[float]) -> Exhibit:
    def curves(value: Value) -> list[CaseCurve]:
        return [
            CaseCurve(
                "no admission control" if i == 0 else title_of(key.removeprefix("sq+")),
                [(round(100 * load), case(key, mean, load), value) for load in loads],
            )
            for i, key in enumerate(keys())
        ]

    def throughput(metrics: Metrics) -> float | None:
        # Who completes after the arrivals have ended was not served in their time.
        in_time = {**metrics, "completed": metrics["completed_by_end"]}
        return values.throughput(metrics["capacity_rps"], mean)(in_time)

    load = "offered load, %"
    return Exhibit(
        f"live-{mean}",
        f"Sessions of {mean} requests",
        f"Mean session length {mean}: throughput in completed sessions, sessions aborted of those "
        "admitted, completed sessions of all that came, and their mean length (compare SBAC, "
        "Figs. 3a, 4a, 6 and 7a).",
        (
            "Impatient customers of a shop wait up to 20 s on average where the paper's clients "
            "wait 1 s, and come back; a queue of 100 in front of 30 workers holds more "
            "than that. So overload aborts sessions more gently here than in the paper's model, "
            "and an ac-interval of 10 s lets more of them in before it reacts.",
        ),
        (
            Panel("a", "throughput", load, "completed sessions, % of capacity",
                  curves(throughput)),
            Panel("b", "aborted sessions", load, "aborted, % of admitted",
                  curves(values.aborted_percent)),
            Panel("c", "completed sessions", load, "completed, % of all that came",
                  curves(values.completed_percent)),
            Panel("d", "length of completed sessions", load, "requests",
                  curves(values.completed_length), digits=2),
        ),
    )  # fmt: skip


def _claims() -> list[Claim]:
    none, *strategies = keys()
    found = [
        within(
            f"ρ = 2, mean 15, {title_of(key.removeprefix('sq+'))}: admitted sessions that complete",
            case(key, 15, 2.0),
            _completed_of_admitted,
            95.0,
            math.inf,
            "at least 95 %",
            1,
        )
        for key in strategies
    ]
    found.append(
        within(
            "ρ = 2, mean 15, no admission control: sessions that complete",
            case(none, 15, 2.0),
            values.completed_percent,
            -math.inf,
            70.0,
            "at most 70 %",
            1,
        )
    )
    return found


def _completed_of_admitted(metrics: Metrics) -> float | None:
    aborted = values.aborted_percent(metrics)
    return None if aborted is None else 100 - aborted
