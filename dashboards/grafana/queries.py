"""The queries of the dashboards, to Prometheus and to the results in PostgreSQL."""

from dataclasses import dataclass

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog import variants as cogvariants
from grafana_foundation_sdk.models.common import DataSourceRef
from grafana_foundation_sdk.models.prometheus import PromQueryFormat, QueryEditorMode

from dashboards.grafana.sdk import POSTGRESQL, SqlQuery, SqlQueryBuilder

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="doorbuster-prometheus")
RESULTS = DataSourceRef(type_val=POSTGRESQL, uid="doorbuster-results")

OF_APPLICATION = 'application="$application"'
"""The selector of what gateway and shop have: the application that is looked at."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A query in PromQL. `every_s`: how often its job is scraped; a rate takes four of them."""

    expr: str
    legend: str = ""
    every_s: int = 1
    now: bool = False
    """Only what there is at the end of the time that is shown, not all series that were in it."""
    buckets: bool = False
    """For a heat map."""

    source = PROMETHEUS

    def built(self, ref_id: str) -> cogbuilder.Builder[cogvariants.Dataquery]:
        """For a panel."""
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
    """A query of the results in SQL."""

    sql: str
    over_time: bool = False
    """Lines over its column `time`, one for each value of its text column."""

    source = RESULTS

    def built(self, ref_id: str) -> cogbuilder.Builder[cogvariants.Dataquery]:
        """For a panel or an annotation."""
        return SqlQueryBuilder(
            SqlQuery(self.sql, ref_id, RESULTS, "time_series" if self.over_time else "table")
        )


Query = Ask | Select


def rate(metric: str, *labels: str, by: str = "") -> str:
    """PromQL: per second, summed, by these labels."""
    selector = f"{{{','.join(labels)}}}" if labels else ""
    summed = f"sum by ({by})" if by else "sum"
    return f"{summed} (rate({metric}{selector}[$__rate_interval]))"


def quantile(share: float, histogram: str, *labels: str, by: str = "") -> str:
    """PromQL: the quantile of a histogram, by these labels."""
    within = rate(f"{histogram}_bucket", *labels, by=f"le, {by}" if by else "le")
    return f"histogram_quantile({share:g}, {within})"
