"""The figures of merit of Connection Sentry's tables, read off the metrics of one run.

Owns: their definitions. Must not know: which case they are read from.
"""

from collections.abc import Mapping

from lab.experiments.reproduction.connection_sentry_cases import RUN_S
from lab.experiments.reproduction.store import Metrics, Value
from loadgen.clients import CONNECTION_SENTRY_MIX

FILE = "file"


def latency_s(kind: str) -> Value:
    """Mean response time of the control set's requests of this class; None without any."""

    def value(metrics: Metrics) -> float | None:
        found: float | None = metrics["classes"][kind]["latency_s"]
        return found

    return value


def throughput(kind: str) -> Value:
    """The control set's requests of this class that were answered, per 30 minutes."""

    def value(metrics: Metrics) -> float:
        return _per_run(metrics, metrics["classes"][kind]["answered"])

    return value


def whole_throughput(metrics: Metrics) -> float:
    """All of them."""
    return _per_run(metrics, sum(each["answered"] for each in metrics["classes"].values()))


def _per_run(metrics: Metrics, answered: int) -> float:
    return answered * RUN_S / float(metrics["measured_s"])


def page_latency_s(metrics: Metrics) -> float | None:
    """Mean response time of the control set's pages, classes weighted as they are asked for."""
    return _weighted({kind: each["latency_s"] for kind, each in metrics["classes"].items()})


def busy(name: str) -> Value:
    """`in_service`, `waiting` (means over time) or `queue_s` of pages, both sets together."""

    def value(metrics: Metrics) -> float | None:
        found: float | None = metrics["busy"][name]
        return found

    return value


def build_s(metrics: Metrics) -> float | None:
    """Time to make a page: in the shop, as it counts it; simulated, latency less the queue."""
    if "tasks" in metrics:
        return task_s("build_s")(metrics)
    latency, queue = page_latency_s(metrics), metrics["busy"]["queue_s"]
    return None if latency is None or queue is None else latency - queue


def task_s(name: str) -> Value:
    """`build_s` of a page in the shop, or a part of it; None in a simulated run."""

    def value(metrics: Metrics) -> float | None:
        return _weighted({kind: each[name] for kind, each in metrics.get("tasks", {}).items()})

    return value


def _weighted(by_class: Mapping[str, float | None]) -> float | None:
    """The mean over the classes of pages there are, weighted as clients ask for them."""
    known = {kind: value for kind, value in by_class.items() if value is not None and kind != FILE}
    weights = {kind: CONNECTION_SENTRY_MIX[kind] for kind in known}
    if not known:
        return None
    return sum(weights[kind] * value for kind, value in known.items()) / sum(weights.values())


def waste(name: str) -> Value:
    """A figure of the wasted-work meter; None where the engine has none."""

    def value(metrics: Metrics) -> float | None:
        found: float | None = metrics["waste"].get(name)
        return found

    return value


def wasted_percent(metrics: Metrics) -> float | None:
    """CPU spent after the client had left, percent of all."""
    return _percent_of_cpu("wasted_cpu_s")(metrics)


def unanswered_percent(metrics: Metrics) -> float | None:
    """CPU spent before, on requests whose clients then left, percent of all."""
    return _percent_of_cpu("unanswered_cpu_s")(metrics)


def _percent_of_cpu(name: str) -> Value:
    def value(metrics: Metrics) -> float | None:
        whole = metrics["waste"]["server_cpu_s"]
        return 100 * metrics["waste"][name] / whole if whole else None

    return value


def confirms(metrics: Metrics) -> float:
    """LIFO-Pri's customers: completed Tr-4 requests."""
    return float(metrics["outcomes"]["confirms"])


def completed(metrics: Metrics) -> float:
    """LIFO-Pri's customers: requests that were answered in time."""
    return float(metrics["attempts"]["completed"])


def wasted_busy_percent(metrics: Metrics) -> float:
    """LIFO-Pri's customers: CPU spent after they had left, percent of all."""
    return float(100 * metrics["wasted_busy_s"] / metrics["busy_s"])
