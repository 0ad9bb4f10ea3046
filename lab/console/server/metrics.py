"""The lab's metrics for Prometheus: launches, live runs, and whether counts reconcile."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from django.db.models import Count
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lab.console.models import Launch, State
from lab.engines.live import announcement as live_runs
from lab.errors import ExperimentError
from lab.results.comparison import ComparisonResult
from lab.results.result import made_here
from runtime.settings import Settings

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
NEWEST: Final = 5
"""The maximum number of result folders that the metrics cover: the newest folders without the
imported results."""

_PREFIX: Final = "doorbuster_lab_"
_ENGINES: Final = ("live", "simulated")
_RUN: Final = ("experiment", "run")
_CHOSEN: Final = ("policy", "admission", "abandonment", "rho")

_OF_CUSTOMERS: Final = (
    ("run_planned_sessions", "planned", "Sessions planned"),
    ("run_confirms_total", "confirms", "Orders whose confirmation reached the customer"),
    (
        "run_late_attempts_total",
        "late_attempts",
        "Attempts that the load generator sent later than its tolerance allows",
    ),
    (
        "run_schedule_lag_seconds",
        "behind_s",
        "The load generator's largest recent delay behind its schedule (real seconds)",
    ),
)
"""The load generator's values, each with (name, field of `loadgen.tally`, meaning)."""


class LabMetrics(Collector):
    """The lab's metrics in a separate registry, which `text` reads."""

    def __init__(
        self,
        lab: Settings,
        viewers: Callable[[], int],
        workers: Callable[[], int],
        queued_tasks: Callable[[], int | None],
    ) -> None:
        """Store the functions that count the live viewers, the workers that are online and the
        queued tasks."""
        self._lab = lab
        self._viewers = viewers
        self._workers = workers
        self._queued_tasks = queued_tasks
        self._reconciles: dict[Path, bool] = {}
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def text(self) -> bytes:
        """Return the metrics in the exposition format."""
        return generate_latest(self.registry)

    def collect(self) -> Iterator[Metric]:
        yield _launches()
        yield from _runs(live_runs.under_way(self._lab.state_dir))
        yield from self._experiments()
        yield _gauge("viewers", "Viewers of the live pages", value=self._viewers())
        workers = "Celery workers of the console that are online"
        yield _gauge("workers", workers, value=self._workers())
        tasks = (
            "Messages that wait at the broker for a worker; no value while the broker cannot be "
            "reached"
        )
        yield _gauge("queued_tasks", tasks, value=self._queued_tasks())

    def _experiments(self) -> Iterator[Metric]:
        runs = "The number of complete runs"
        finished = _gauge("finished_runs", f"{runs} in a result folder", *_RUN[:1])
        unreconciled = _gauge(
            "unreconciled_runs",
            f"{runs} in which the counts of customers, gateway and shop do not reconcile",
            *_RUN[:1],
        )
        looked_into: dict[Path, bool] = {}
        for path in islice(made_here(self._lab.results_dir, "plan.json"), NEWEST):
            folder = ComparisonResult(path)
            try:
                whole = folder.whole_runs()
                for _, run in whole:
                    known = self._reconciles.get(run.summary_file)
                    looked_into[run.summary_file] = (
                        run.summary().reconciles if known is None else known
                    )
            except (ExperimentError, OSError):  # a plan of another kind, or a damaged run
                continue
            wrong = sum(not looked_into[run.summary_file] for _, run in whole)
            finished.add_metric([folder.path.name], len(whole))
            unreconciled.add_metric([folder.path.name], wrong)
        self._reconciles = looked_into
        yield from (finished, unreconciled)


def _gauge(name: str, meaning: str, *labels: str, value: float | None = None) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", f"{meaning}.", value, labels or None)


def _launches() -> Metric:
    family = _gauge("launches", "Launches of the console", "engine", "state")
    there = {
        (row["engine"], row["state"]): row["number"]
        for row in Launch.objects.order_by().values("engine", "state").annotate(number=Count("*"))
    }
    for engine in _ENGINES:
        for state in State.values:
            family.add_metric([engine, state], there.get((engine, state), 0))
    return family


def _runs(runs: list[dict[str, Any]]) -> Iterator[Metric]:
    def family(name: str, meaning: str, *labels: str) -> Any:
        kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        return kind(_PREFIX + name.removesuffix("_total"), f"{meaning}.", labels=[*_RUN, *labels])

    def add(family: Any, run: Mapping[str, Any], value: object, *labels: str) -> None:
        if isinstance(value, int | float):
            family.add_metric([*(str(run.get(name, "")) for name in _RUN), *labels], value)

    info = family("run_info", "Always 1; the labels describe a live run in progress", *_CHOSEN)
    start = family(
        "run_start_timestamp_seconds", "The start of the live run in progress, as Unix time"
    )
    sessions = family(
        "run_sessions_total", "Sessions by event: the session started or ended", "event"
    )
    attempts = family("run_attempts_total", "Attempts of customers, by outcome",
                      "outcome")  # fmt: skip
    for run in runs:
        add(info, run, 1, *(str(run.get(name, "")) for name in _CHOSEN))
        add(start, run, run.get("started_at"))
        customers = run.get("customers", {})
        for event in ("started", "ended"):
            add(sessions, run, customers.get(event), event)
        for outcome, number in customers.get("outcomes", {}).items():
            add(attempts, run, number, outcome)
    yield from (info, start, sessions, attempts)
    for name, key, meaning in _OF_CUSTOMERS:
        one = family(name, meaning)
        for run in runs:
            add(one, run, run.get("customers", {}).get(key))
        yield one
