"""The metrics of a run of Connection Sentry's clients, and the values of the tables.

All times are paper seconds. Metrics can be written as JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.analysis.outcomes import is_outcome
from lab.engines.simulated.run import scenario_of
from lab.engines.waste import of_simulation
from lab.results.metrics import Metrics, Value
from lab.spec.cases import Case
from lab.spec.runs import ApplianceServer, ShopRun
from lab.studies.connection_sentry.cases import RUN_S
from loadgen.defaults import CONNECTION_SENTRY_MIX
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.clients import KIND_PAGE
from simulator.simulation import simulate

Floats = npt.NDArray[np.float64]


def client_metrics(
    attempts: pa.Table,
    samples: Mapping[str, Sequence[Any]],
    waste: Mapping[str, float | None],
    run: ShopRun,
) -> dict[str, Any]:
    """Return the control set's metrics by class, and the pages in service and the wasted work of
    both sets.

    `samples` are the columns of samples.parquet, and `waste` is the entry of this name in run.json.
    A latency is the mean response time of the requests that begin after the warm-up. Throughput
    counts all answers between the end of the warm-up and `duration_s`, even if the request began
    during the warm-up.
    """
    model, until_s = run.client_model, run.duration_s
    assert until_s is not None
    control = attempts.filter(pc.less(attempts.column("session"), model.per_set))
    return {
        "measured_s": until_s - run.warm_up_s,
        "classes": {
            kind: _class(
                control.filter(pc.equal(control.column("page"), page)), run.warm_up_s, until_s
            )
            for kind, page in KIND_PAGE.items()
        },
        "busy": page_levels(samples, run.warm_up_s, until_s),
        "waste": dict(waste),
    }


def _class(attempts: pa.Table, warm_up_s: float, until_s: float) -> dict[str, Any]:
    started_s = attempts.column("started_s").to_numpy()
    finished_s = attempts.column("finished_s").to_numpy()
    is_answered = is_outcome(attempts, AttemptOutcome.COMPLETED)
    is_measured = started_s >= warm_up_s
    times_s = (finished_s - started_s)[is_answered & is_measured]
    in_time = is_answered & (finished_s > warm_up_s) & (finished_s <= until_s)
    return {
        "asked": int(is_measured.sum()),
        "answered": int(in_time.sum()),
        "latency_s": float(times_s.mean()) if len(times_s) else None,
    }


def page_levels(
    samples: Mapping[str, Sequence[Any]], warm_up_s: float, until_s: float
) -> dict[str, float | None]:
    """Return the mean number of waiting pages, the mean number of pages in service, and the mean
    wait of a page.

    The wait is calculated with Little's law. Time is counted from the last sample before the first
    arrival, because the samples of a live run begin before its clients start. All values are None
    if no sample shows an arrival, or if the measured time has fewer than two samples. The wait is
    also None if no page arrived in the measured time.
    """
    arrived = _column(samples, "arrived_total")
    time_s = _column(samples, "time_s")
    nothing: dict[str, float | None] = dict.fromkeys(("in_service", "waiting", "queue_s"))
    come = np.flatnonzero(arrived[1:] > arrived[:-1])
    if not len(come):
        return nothing
    began_s = time_s[come[0]]
    inside = np.flatnonzero((time_s >= began_s + warm_up_s) & (time_s <= began_s + until_s))
    if len(inside) < 2:
        return nothing
    waiting = float(_column(samples, "waiting")[inside].mean())
    window_s = float(time_s[inside[-1]] - time_s[inside[0]])
    arrivals = float(arrived[inside[-1]] - arrived[inside[0]])
    return {
        "in_service": float(_column(samples, "in_service")[inside].mean()),
        "waiting": waiting,
        "queue_s": waiting * window_s / arrivals if arrivals else None,
    }


def _column(samples: Mapping[str, Sequence[Any]], name: str) -> Floats:
    return np.asarray(samples[name], dtype=np.float64)


def shop_tasks(
    before: Mapping[str, Any], after: Mapping[str, Any], run: ShopRun
) -> dict[str, dict[str, float | None]]:
    """Return the shop's mean times for a page by class of request, from two answers to
    `GET /status`.

    `build_s` is the time to build a page. It is the sum of `cpu_s` (on the CPU), `database_s`
    (waiting for PostgreSQL and Redis) and `other_s` (waiting for a CPU or the interpreter). The
    means are over completed pages; a class without completed pages is omitted. With profile `real`,
    the shop separates `database_s` from `other_s`; with any other profile, both are None.
    """
    server = run.server
    assert isinstance(server, ApplianceServer)
    is_real = server.page_profile == "real"
    found: dict[str, dict[str, float | None]] = {}
    for kind, page in KIND_PAGE.items():
        if page not in after["pages"]:
            continue  # the shop does not count files
        now, then = after["pages"][page], before["pages"][page]
        served = now["served"] - then["served"]
        if served:
            build_s, cpu_s, database_s = (
                server.time_scale * (now[name] - then[name]) / served
                for name in ("execution_s", "cpu_s", "own_wait_s")
            )
            found[kind] = {
                "build_s": build_s,
                "cpu_s": cpu_s,
                "database_s": database_s if is_real else None,
                "other_s": build_s - cpu_s - database_s if is_real else None,
            }
    return found


def _simulated(case: Case[ShopRun], seed: int, log: AttemptLog | None) -> dict[str, Any]:
    log = AttemptLog() if log is None else log
    simulated = simulate(scenario_of(case.run, seed), log=log)
    wasted = of_simulation(simulated)
    return client_metrics(log.table(), simulated.samples, wasted, case.run)


MEASURES = {"clients": _simulated}
"""The measures of simulated cases, by name."""


def latency_s(kind: str) -> Value:
    """Return a metric: the mean response time of the control set's requests of a class, or None if
    none was answered."""
    return lambda metrics: metrics["classes"][kind]["latency_s"]


def throughput(kind: str) -> Value:
    """Return a metric: the number of the control set's answered requests of a class per 30
    minutes."""
    return lambda metrics: _per_run(metrics, metrics["classes"][kind]["answered"])


def whole_throughput(metrics: Metrics) -> float:
    """Return the number of the control set's answered requests of all classes per 30 minutes."""
    return _per_run(metrics, sum(each["answered"] for each in metrics["classes"].values()))


def _per_run(metrics: Metrics, answered: float) -> float:
    return answered * RUN_S / float(metrics["measured_s"])


def page_latency_s(metrics: Metrics) -> float | None:
    """Return the mean response time of the control set's pages; each class is weighted by its share
    of the clients' requests."""
    return _weighted({kind: each["latency_s"] for kind, each in metrics["classes"].items()})


def busy(name: str) -> Value:
    """Return a metric of the pages of both client sets together: `in_service`, `waiting` or
    `queue_s`."""
    return lambda metrics: metrics["busy"][name]


def build_s(metrics: Metrics) -> float | None:
    """Return the time to build a page: the shop's measurement, or the simulated latency minus the
    wait in the queue."""
    if "tasks" in metrics:
        return task_s("build_s")(metrics)
    latency, queue = page_latency_s(metrics), metrics["busy"]["queue_s"]
    return None if latency is None or queue is None else latency - queue


def task_s(name: str) -> Value:
    """Return a metric: the mean `build_s` of a page in the shop, or one of its parts; None in a
    simulated run."""
    return lambda metrics: _weighted(
        {kind: each[name] for kind, each in metrics.get("tasks", {}).items()}
    )


def _weighted(by_class: Mapping[str, float | None]) -> float | None:
    """Return the mean over the page classes, weighted by their shares of the requests."""
    weighted = [
        (CONNECTION_SENTRY_MIX[kind], value)
        for kind, value in by_class.items()
        if value is not None and kind != "file"
    ]
    if not weighted:
        return None
    return sum(weight * value for weight, value in weighted) / sum(weight for weight, _ in weighted)


def waste(name: str) -> Value:
    """Return a metric of the wasted-work meter, or None if the engine does not measure it."""
    return lambda metrics: metrics["waste"].get(name)


def _percent_of_cpu(name: str) -> Value:
    def value(metrics: Metrics) -> float | None:
        whole = metrics["waste"]["server_cpu_s"]
        return 100 * metrics["waste"][name] / whole if whole else None

    return value


wasted_percent = _percent_of_cpu("wasted_cpu_s")
"""The CPU time spent on requests after their clients had left, as a percentage of all CPU time."""
unanswered_percent = _percent_of_cpu("unanswered_cpu_s")
"""The CPU time spent on unanswered requests before their clients left, as a percentage of all CPU
time."""


def confirms(metrics: Metrics) -> float:
    """Return the number of completed Tr-4 requests of LIFO-Pri's customers."""
    return float(metrics["outcomes"]["confirms"])


def completed(metrics: Metrics) -> float:
    """Return the number of requests of LIFO-Pri's customers that were answered in time."""
    return float(metrics["attempts"]["completed"])


def wasted_busy_percent(metrics: Metrics) -> float:
    """Return the CPU time spent on requests after LIFO-Pri's customers had left, as a percentage of
    all CPU time."""
    return float(100 * metrics["wasted_busy_s"] / metrics["busy_s"])
