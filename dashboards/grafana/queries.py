"""The queries of the dashboards, to Prometheus and to the results in PostgreSQL."""

from dataclasses import dataclass

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog import variants as cogvariants
from grafana_foundation_sdk.models.common import DataSourceRef
from grafana_foundation_sdk.models.prometheus import PromQueryFormat, QueryEditorMode

from dashboards.grafana.sdk import POSTGRESQL, SqlQuery, SqlQueryBuilder

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="${prometheus}")
RESULTS = DataSourceRef(type_val=POSTGRESQL, uid="${results}")
"""The data sources, as variables of the dashboard, so that any Grafana can import it."""

PROVISIONED = {"prometheus": "doorbuster-prometheus", "results": "doorbuster-results"}
"""The uid of each data source in the appliance's Grafana, by the variable for the source."""

OF_APPLICATION = 'application="$application"'
"""The selector for the gateway's and the shop's metrics of one application."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A query in PromQL. `every_s` is the scrape interval of the metric's job in seconds; a rate
    covers at least four intervals.
    """

    expr: str
    legend: str = ""
    every_s: int = 1
    now: bool = False
    """True if the panel needs only the values at the end of the time range."""
    buckets: bool = False
    """True if the panel is a heat map."""

    source = PROMETHEUS

    def built(self, ref_id: str) -> cogbuilder.Builder[cogvariants.Dataquery]:
        query = (
            prometheus.Dataquery()
            .datasource(PROMETHEUS)
            .editor_mode(QueryEditorMode.CODE)
            .expr(self.expr)
            .legend_format(self.legend or "__auto")
            .interval(f"{self.every_s}s")
            .ref_id(ref_id)
        )
        form = PromQueryFormat.HEATMAP if self.buckets else PromQueryFormat.TIME_SERIES
        query = query.format(form)
        return query.instant() if self.now else query.range()


@dataclass(frozen=True, slots=True)
class Select:
    sql: str
    over_time: bool = False
    """True for lines over the column `time`, one for each value of the text column."""

    source = RESULTS

    def built(self, ref_id: str) -> cogbuilder.Builder[cogvariants.Dataquery]:
        return SqlQueryBuilder(
            SqlQuery(self.sql, ref_id, RESULTS, "time_series" if self.over_time else "table")
        )


Query = Ask | Select


def rate(metric: str, *labels: str, by: str = "") -> str:
    """Return PromQL for the sum of a metric's rates per second.

    `labels` are conditions such as `page="ads"`. `by` names the labels that separate the sums.
    """
    selector = f"{{{','.join(labels)}}}" if labels else ""
    summed = f"sum by ({by})" if by else "sum"
    return f"{summed} (rate({metric}{selector}[$__rate_interval]))"


def quantile(share: float, histogram: str, *labels: str, by: str = "") -> str:
    """Return PromQL for a quantile of a histogram, with `labels` and `by` as in `rate`."""
    within = rate(f"{histogram}_bucket", *labels, by=f"le, {by}" if by else "le")
    return f"histogram_quantile({share:g}, {within})"
