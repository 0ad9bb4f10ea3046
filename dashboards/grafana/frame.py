"""The frame of all dashboards: variables, annotations, links and the grid."""

from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

from dashboards.grafana.colours import ACCENT, GOOD, WARNING
from dashboards.grafana.committed import Json
from dashboards.grafana.panels import Panel
from dashboards.grafana.queries import PROMETHEUS, PROVISIONED, RESULTS, Select
from dashboards.grafana.sdk import as_plain

TAG = "doorbuster"

APPLICATION = "label_values(doorbuster_gateway_workers, application)"

CONSOLE = "SELECT url FROM results.console"

RUNS = """SELECT experiment || '/' || number AS __value,
       to_char(started_at, 'MM-DD HH24:MI ') || runs.title || coalesce(' at ρ = ' || rho, '')
       || ', seed ' || seed AS __text
FROM results.runs JOIN results.experiments USING (experiment)
WHERE engine = 'live' AND started_at IS NOT NULL
ORDER BY started_at DESC LIMIT 500"""

_OF_RUN = """SELECT ((extract(epoch FROM {at}) * 1000)::bigint {margin})::text AS ms
FROM results.runs WHERE experiment || '/' || number = ${{run:sqlstring}}"""

RUN_FROM = _OF_RUN.format(at="started_at", margin="- 5000")
RUN_TO = _OF_RUN.format(at="coalesce(ended_at, now())", margin="+ 5000")

EXPERIMENTS = """SELECT began_at AS "time", ended_at AS "timeend",
       'Experiment: ' || title AS "text", engine || ',experiment' AS "tags"
FROM results.experiments WHERE engine = 'live' AND $__timeFilter(began_at)"""

RUN_STARTS = """SELECT started_at AS "time", runs.ended_at AS "timeend",
       'Run ' || number || ': ' || runs.title || coalesce(' at ρ = ' || rho, '') AS "text",
       queueing || ',run' AS "tags"
FROM results.runs JOIN results.experiments USING (experiment)
WHERE engine = 'live' AND $__timeFilter(started_at)"""

CHANGES = """SELECT at AS "time", words AS "text", replace(kind, ' ', '-') AS "tags"
FROM results.events
WHERE kind IN ('switched', 'load changed') AND $__timeFilter(at)"""

ZOOM = "?from=${run_from}&to=${run_to}&var-run=${run}&var-application=shop"
"""The end of a dashboard's URL, which sets the time range to the chosen run."""


@dataclass(frozen=True, slots=True)
class Part:
    """A group of panels with a heading, in rows of 24 columns."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard; `name` is the name of its file, and the uid is `doorbuster-` with this name."""

    name: str
    title: str
    says: str
    parts: Sequence[Part]
    variables: Sequence[dashboard.QueryVariable] = ()
    """The dashboard's variables; they replace the usual variables for the application and the run.
    """
    from_time: str = "now-15m"
    refresh: str = "5s"

    @property
    def uid(self) -> str:
        return uid(self.name)

    def as_plain(self) -> Json:
        made = (
            dashboard.Dashboard(self.title)
            .uid(self.uid)
            .description(self.says)
            .tags([TAG])
            .timezone("browser")
            .tooltip(models.DashboardCursorSync.CROSSHAIR)
            .time(self.from_time, "now")
            .timepicker(
                dashboard.TimePicker().refresh_intervals(["1s", "2s", "5s", "10s", "30s", "1m"])
            )
            .refresh(self.refresh)
            .readonly()
            .version(1)
        )
        for source in _sources():
            made = made.with_variable(source)
        for variable in self.variables or _of_a_run():
            made = made.with_variable(variable)
        made = made.with_variable(
            question("console", "Lab console", CONSOLE).hide(models.VariableHide.HIDE_VARIABLE)
        )
        for annotation in _annotations():
            made = made.annotation(annotation)
        for link in self._links():
            made = made.link(link)
        number = 0
        for part in self.parts:
            number += 1
            made = made.with_row(dashboard.Row(part.title).id(number))
            for panel in part.panels:
                number += 1
                made = made.with_panel(panel.id(number))
        plain: Json = as_plain(made.build())
        return plain

    def _links(self) -> Sequence[dashboard.DashboardLink]:
        found = [
            dashboard.DashboardLink("Dashboards")
            .type(models.DashboardLinkType.DASHBOARDS)
            .icon("external link")
            .tooltip("The other dashboards, for the same time range and application")
            .tags([TAG])
            .as_dropdown(True)
            .include_vars(True)
            .keep_time(True),
            _link("Lab console", "${console}/", "Launch, compare, download"),
            _link(
                "Watch",
                "${console}/watch/",
                "The console's live page, to switch policies and change the load",
            ),
        ]
        if not self.variables:
            zoom = _link(
                "Show the run",
                f"/d/{self.uid}{ZOOM}",
                "Set the time range to the run, from its start to its end",
            )
            found.insert(1, zoom.target_blank(False).icon("dashboard"))
        return found


def uid(name: str) -> str:
    return f"doorbuster-{name}"


def question(name: str, label: str, sql: str) -> dashboard.QueryVariable:
    """Return a variable whose values are read from the results."""
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(RESULTS)
        .query(sql)
        .definition(sql)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.DISABLED)
    )


def _sources() -> Sequence[dashboard.DatasourceVariable]:
    return [
        dashboard.DatasourceVariable(name)
        .label(title)
        .description(says)
        .type(source.type_val or "")
        .current(models.VariableOption(selected=True, text=title, value=PROVISIONED[name]))
        for name, title, source, says in (
            ("prometheus", "Prometheus", PROMETHEUS, "The Prometheus that scrapes the appliance"),
            ("results", "Results", RESULTS, "The PostgreSQL database with published results"),
        )
    ]


def _of_a_run() -> Sequence[dashboard.QueryVariable]:
    hidden = models.VariableHide.HIDE_VARIABLE
    return (
        dashboard.QueryVariable("application")
        .label("Application")
        .description("shop; while a hosting platform runs, also each of its applications")
        .datasource(PROMETHEUS)
        .query({"qryType": 1, "query": APPLICATION, "refId": "application"})
        .definition(APPLICATION)
        .current(models.VariableOption(selected=True, text="shop", value="shop"))
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_DESC),
        question("run", "Run", RUNS).description(
            "Live runs, the newest first; the link “Show the run” sets the time range"
        ),
        question("run_from", "From", RUN_FROM).hide(hidden),
        question("run_to", "To", RUN_TO).hide(hidden),
    )


def _annotations() -> Sequence[dashboard.AnnotationQuery]:
    return [
        dashboard.AnnotationQuery()
        .name(name)
        .datasource(RESULTS)
        .enable(True)
        .hide(False)
        .icon_color(colour)
        .target(Select(sql).built("Anno"))
        for name, colour, sql in (
            ("Experiments", ACCENT, EXPERIMENTS),
            ("Runs", GOOD, RUN_STARTS),
            ("Policies and load", WARNING, CHANGES),
        )
    ]


def _link(title: str, url: str, says: str) -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink(title)
        .type(models.DashboardLinkType.LINK)
        .icon("external link")
        .tooltip(says)
        .url(url)
        .target_blank(True)
    )
