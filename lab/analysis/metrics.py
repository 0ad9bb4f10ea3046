"""The declarations of a run's metrics.

Tables, CSV files, curves, the results database (`results.runs`) and docs/run-metrics.md show these
metrics.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes
from loadgen.records.attempts import AttemptOutcome

Unit = Literal["%", "", "requests", "attempts", "sessions", "confirms", "s", "requests/s"]
TableName = Literal["Who sells", "Sessions", "Requests"]
"""A table of `lab.report.tables` that prints metrics."""


class Curve(NamedTuple):
    """A curve that shows a metric over the offered load."""

    key: str
    """The curve's name in the addresses of the console's pages."""
    words: str
    """The label of the curve's axis."""
    place: int
    """The curve's position in a page's list; a page opens with the curve at position 1."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a run: its name, unit, meaning and calculation."""

    name: str
    """The database column. In a `…_ratio`, 1 means 100 %; a `…_s` is in paper seconds."""
    title: str
    """The title of the metric in tables."""
    unit: Unit
    """The unit in tables; a ratio with the unit `%` is printed multiplied by 100."""
    definition: str
    of: Callable[[Outcomes], float | None]
    """The function that calculates the metric; it returns None if the run lacks the metric."""
    digits: int = 0
    if_unknown: str = "none"
    """The text that tables print if no run has the metric."""
    curve: Curve | None = None
    """The curve over the offered load; None if the metric is not drawn."""
    is_of_sessions: bool = False
    """Whether the metric is missing in a closed loop, in which sessions never end."""
    tables: tuple[TableName, ...] = ()
    """The tables of a comparison that print the metric."""
    is_pooled: bool = False
    """Whether tables print the sum over the repetitions instead of the mean."""

    @property
    def is_whole(self) -> bool:
        """Whether the metric is a count."""
        return self.unit in ("requests", "attempts", "sessions", "confirms") and not self.digits

    def text(self, cell: Cell) -> str:
        """Return the text for a table: the mean and the interval over the repetitions, or the sum
        if `is_pooled`."""
        if self.is_pooled:
            return f"{sum(self.of(run) or 0.0 for run in cell.runs):.0f}"
        found = cell.over_known(self.of)
        if found is None:
            return self.if_unknown
        return found.scaled(100.0 if self.unit == "%" else 1.0).text(self.digits)


def _outcome(name: str, outcome: AttemptOutcome, definition: str) -> Metric:
    title = name.replace("_", " ").capitalize()
    unit: Unit = "requests" if name.endswith("requests") else "attempts"
    return Metric(name, title, unit, definition, lambda run: run.count(outcome))


def _fate(name: str, definition: str) -> Metric:
    title = name.replace("_", " ").capitalize()

    def of(run: Outcomes) -> float:
        number: int = getattr(run.fates, name.removesuffix("_sessions"))
        return number

    return Metric(name, title, "sessions", definition, of, is_of_sessions=True)


METRICS: tuple[Metric, ...] = (
    Metric(
        "duration_s",
        "Duration s",
        "s",
        "The paper seconds from the first arrival to the end of the last session.",
        lambda run: run.duration_s,
        1,
    ),
    Metric(
        "planned_requests",
        "Planned requests",
        "requests",
        "The number of requests that customers would make if every session completed.",
        lambda run: sum(run.planned.values()),
    ),
    Metric(
        "generated_attempts",
        "Generated attempts",
        "attempts",
        "The number of attempts that customers made, including retries.",
        lambda run: sum(run.generated(page) for page in run.attempts),
    ),
    _outcome(
        "completed_requests", AttemptOutcome.COMPLETED, "The number of requests answered in time."
    ),
    _outcome(
        "timed_out_attempts",
        AttemptOutcome.TIMED_OUT,
        "The number of attempts whose customer left before the answer came.",
    ),
    _outcome(
        "dropped_attempts",
        AttemptOutcome.DROPPED,
        "The number of attempts that a queueing policy turned away, for example because a queue "
        "was full.",
    ),
    _outcome(
        "rejected_attempts",
        AttemptOutcome.REJECTED,
        "The number of attempts answered with the rejection page of an admission policy or of "
        "DOOR-FIFO.",
    ),
    _outcome(
        "refused_attempts",
        AttemptOutcome.REFUSED,
        "The number of attempts whose connection the server did not accept.",
    ),
    _outcome(
        "failed_attempts",
        AttemptOutcome.FAILED,
        "The number of attempts that ended with an error, a wrong page, an incomplete response or "
        "a lost connection.",
    ),
    _outcome(
        "not_generated_requests",
        AttemptOutcome.NOT_GENERATED,
        "The number of planned requests that were never sent, because their session ended early.",
    ),
    Metric(
        "completed_ratio",
        "Completed %",
        "%",
        "Completed requests divided by planned requests.",
        lambda run: run.completed_ratio,
        1,
        tables=("Who sells", "Requests"),
    ),
    Metric(
        "timed_out_ratio",
        "Timed out",
        "%",
        "Attempts that timed out, divided by planned requests.",
        lambda run: run.timed_out_ratio,
        1,
        tables=("Requests",),
    ),
    Metric(
        "turned_away_ratio",
        "Turned away",
        "%",
        "The number of rejected, dropped, refused and failed attempts, divided by the number of "
        "planned requests.",
        lambda run: run.turned_away_ratio,
        1,
        tables=("Requests",),
    ),
    _fate(
        "arrived_sessions",
        "The number of sessions that arrived. Each session has one of the next four fates.",
    ),
    _fate(
        "rejected_sessions",
        "The number of sessions that got a rejection page at their first attempt, and no page of "
        "the shop.",
    ),
    _fate(
        "never_let_in_sessions",
        "The number of sessions that got no page of the shop and are not rejected sessions. "
        "Their attempts timed out, failed, or were dropped, refused or (after the first attempt) "
        "rejected.",
    ),
    _fate(
        "lost_sessions",
        "The number of sessions that got at least one page of the shop, but not all planned pages.",
    ),
    _fate(
        "completed_sessions",
        "The number of sessions whose planned requests were all answered in time.",
    ),
    Metric(
        "completed_of_let_in_ratio",
        "Completed % of let in",
        "%",
        "Completed sessions divided by sessions that got at least one page.",
        lambda run: run.fates.completed_of_let_in_ratio,
        1,
        is_of_sessions=True,
        tables=("Sessions",),
    ),
    Metric(
        "completed_length",
        "Mean length of completed",
        "requests",
        "The mean number of requests of completed sessions.",
        lambda run: run.fates.mean_completed_length,
        1,
        is_of_sessions=True,
        tables=("Sessions",),
    ),
    Metric(
        "useful_rps",
        "Useful requests/s",
        "requests/s",
        "The number of requests of completed sessions that were answered before the last "
        "arrival, divided by the paper seconds from the first to the last arrival (SBAC's useful "
        "work).",
        lambda run: run.useful_rps,
        2,
        curve=Curve("useful", "requests of completed sessions per paper second", 5),
        is_of_sessions=True,
        tables=("Sessions",),
    ),
    Metric(
        "useful_ratio",
        "Useful %",
        "%",
        "Requests of completed sessions divided by all completed requests.",
        lambda run: run.useful_ratio,
        1,
        is_of_sessions=True,
        tables=("Sessions",),
    ),
    Metric(
        "confirms",
        "Confirms",
        "confirms",
        "The number of completed purchases (Tr-4).",
        lambda run: run.confirms,
        tables=("Who sells",),
        is_pooled=True,
    ),
    Metric(
        "confirms_per_1000",
        "Confirms of 1,000",
        "confirms",
        "Confirms divided by sessions, times 1,000.",
        lambda run: 1000 * run.confirms / run.sessions if run.sessions else None,
        1,
        curve=Curve("confirms", "confirms of 1,000 sessions", 4),
        is_of_sessions=True,
    ),
    Metric(
        "confirm_bound",
        "Bound",
        "confirms",
        "The most confirms that a policy can reach on average with this run's customers and "
        "server without knowing which customers will buy (docs/bound.md).",
        lambda run: run.confirm_bound,
        1,
        tables=("Who sells",),
        is_pooled=True,
    ),
    Metric(
        "revenue_efficiency_ratio",
        "Efficiency",
        "",
        "Confirms divided by the bound.",
        lambda run: run.revenue_efficiency_ratio,
        2,
        "no buyer planned",
        curve=Curve("efficiency", "confirms / capacity bound", 2),
        tables=("Who sells",),
    ),
    Metric(
        "estimated_efficiency_ratio",
        "Estimated",
        "",
        "The expected efficiency if the shop serves the same share of the requests for each page "
        "as in this run. This value varies less by chance than confirms divided by the bound.",
        lambda run: run.estimated_efficiency_ratio,
        2,
        "–",
        curve=Curve("estimated", "efficiency, estimated", 3),
        tables=("Who sells",),
    ),
    Metric(
        "throughput_rps",
        "Requests/s",
        "requests/s",
        "Completed requests per paper second, from the first arrival to the end of the last "
        "session.",
        lambda run: run.throughput_rps,
        2,
        curve=Curve("throughput", "completed requests per paper second", 1),
        tables=("Who sells",),
    ),
)
"""All metrics, in the order of the tables' and the database's columns."""

BY_NAME = {metric.name: metric for metric in METRICS}


def curves() -> list[tuple[Curve, Metric]]:
    """Return each curve over the offered load with its metric, in the order of `Curve.place`."""
    found = [(metric.curve, metric) for metric in METRICS if metric.curve is not None]
    return sorted(found, key=lambda one: one[0].place)


def of_table(table: TableName) -> list[Metric]:
    """Return the metrics that a table prints, in the table's order."""
    return [metric for metric in METRICS if table in metric.tables]


_HEAD = """\
# Metrics of a run

`make pages` writes this page from the metrics in `lab/analysis/metrics.py`.
The CSV files of metrics and the columns of `results.runs` in PostgreSQL have all these metrics,
with 1 for 100 %. Tables and curves show some of them.

| metric | in tables | unit | definition |
| --- | --- | --- | --- |
"""


def page() -> str:
    """Return the text of docs/run-metrics.md."""
    lines = [
        f"| `{metric.name}` | {metric.title} | {metric.unit or 'ratio'} | {metric.definition} |\n"
        for metric in METRICS
    ]
    return _HEAD + "".join(lines)
