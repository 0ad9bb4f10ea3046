"""The Connection Sentry on the appliance: the comparisons, and what is read off their runs.

Owns: the spec of a cell, the metrics of a live run. Must not know: how a run is made.
"""

from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.client_metrics import client_metrics, shop_tasks
from lab.experiments.reproduction.connection_sentry_cases import MODES, Cases, Cell
from lab.experiments.reproduction.store import Metrics
from lab.experiments.results import RunFolder
from lab.experiments.spec import Spec

TIME_SCALE = 10.0
"""A page of profile `real` costs the same live seconds at every scale: 0.15 s of a search are 1.5 s
of paper time at this one, as in the simulator."""


def spec(cases: Cases, cell: Cell, *, seed: int, repetitions: int) -> Spec:
    """The comparison of a cell without the sentry (X) and with it (S)."""
    case = cases.run(cell, "X")
    shop = {key: value for key, value in case.server.items() if key != "kind"}
    return Spec.model_validate(
        {
            "title": f"Connection Sentry, {cell.title}",
            "policy": [
                {"name": case.policy, "abandonment": abandonment, "label": mode}
                for mode, abandonment in MODES.items()
            ],
            "load": {"duration_s": case.duration_s},
            "clients": case.clients,
            "warm_up_s": case.warm_up_s,
            "time_scale": TIME_SCALE,
            "seed": seed,
            "repetitions": repetitions,
            **shop,
        }
    )


def metrics(run: RunFolder, case: Case) -> Metrics:
    """What is kept of a run of the clients, the shop's time per task with it."""
    summary = run.summary()
    counts = summary["counts"]
    found = client_metrics(run.attempts(), run.samples().to_pydict(), summary["waste"], case)
    tasks = shop_tasks(counts["before"]["shop"], counts["after"]["shop"], case, TIME_SCALE)
    return {**found, "tasks": tasks}
