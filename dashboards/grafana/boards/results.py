"""Experiment results: the metrics of whole runs, from the results database."""

from collections.abc import Mapping

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

from dashboards.grafana.colours import ACCENT, BAD, GOOD, OUTCOMES, QUANTILES, SOFT, WARNING
from dashboards.grafana.frame import Board, Part, question, uid
from dashboards.grafana.panels import BAD_FROM_1, columns, lines, number, rows
from dashboards.grafana.queries import Select

EXPERIMENTS = """SELECT experiment AS __value,
       to_char(began_at, 'MM-DD HH24:MI ') || title AS __text
FROM results.experiments ORDER BY began_at DESC"""

POLICIES = """SELECT title FROM results.runs WHERE experiment = ${experiment:sqlstring}
GROUP BY title ORDER BY min(number)"""

RUNS = """SELECT number AS __value,
       number || ': ' || title || coalesce(' at ρ = ' || rho, '') || ', seed ' || seed AS __text
FROM results.runs WHERE experiment = ${experiment:sqlstring} ORDER BY number"""

CHOSEN = """experiment = ${experiment:sqlstring}
  AND title IN (${policy:sqlstring}) AND number::text IN (${runs:sqlstring})"""
"""The SQL condition for the runs that the variables select."""

NAME = """title || coalesce(' at ρ = ' || rho, '') AS "policy\""""
WHOLE = f"""FROM results.runs WHERE state = 'whole' AND {CHOSEN}
GROUP BY title, rho ORDER BY rho, min(number)"""

RUN_ROWS = f"""SELECT number AS "run", title AS "policy", rho AS "ρ", seed, state,
       started_at AS "started", duration_s AS "duration", completed_ratio AS "completed",
       revenue_efficiency_ratio AS "efficiency", confirms, throughput_rps AS "throughput",
       response_p90_s AS "9 in 10", wasted_cpu_ratio AS "CPU wasted", late_ratio AS "late",
       reconciles, experiment, replace(run, '+', '%2B') AS folder,
       ((extract(epoch FROM started_at) * 1000)::bigint - 5000)::text AS from_ms,
       ((extract(epoch FROM coalesce(ended_at, now())) * 1000)::bigint + 5000)::text AS to_ms
FROM results.runs WHERE {CHOSEN} ORDER BY number"""


def board() -> Board:
    return Board(
        "results",
        "Experiment results",
        "The metrics of complete runs, live or simulated. Values are means over the runs "
        "that you choose above. The lab console shows intervals, published values and warnings. "
        "All times are in paper seconds.",
        [
            Part("The experiment", _experiment()),
            Part("Compared", _compared()),
            Part("Its runs", _runs()),
            Part("All experiments", _all()),
        ],
        variables=_variables(),
        from_time="now-90d",
        refresh="30s",
    )


def _variables() -> list[dashboard.QueryVariable]:
    return [
        question("experiment", "Experiment", EXPERIMENTS),
        question("policy", "Policy", POLICIES).multi(True).include_all(True).current(_all_of_it()),
        question("runs", "Runs", RUNS).multi(True).include_all(True).current(_all_of_it()),
    ]


def _all_of_it() -> models.VariableOption:
    return models.VariableOption(selected=True, text=["All"], value=["$__all"])


def _experiment() -> list[object]:
    of = "FROM results.experiments WHERE experiment = ${experiment:sqlstring}"
    runs = "FROM results.runs WHERE experiment = ${experiment:sqlstring}"
    return [
        number(
            "Complete runs",
            "The share of the planned runs that are complete. The command that started an "
            "interrupted experiment also resumes it.",
            "percentunit",
            Select(f"SELECT whole_runs::float8 / planned_runs AS whole {of}"),
            wide=6,
            limits=((None, WARNING), (1, GOOD)),
        ),
        number(
            "Capacity",
            "Requests per paper second at ρ = 1. An experiment with a closed loop has no such "
            "value.",
            "reqps",
            Select(f"SELECT capacity_rps {of}"),
            wide=6,
            digits=2,
        ),
        number(
            "Runs that do not reconcile",
            "Runs in which customers, gateway and shop have different counts. Do not use the "
            "numbers of such runs.",
            "short",
            Select(f"SELECT count(*) FILTER (WHERE NOT reconciles) AS runs {runs}"),
            wide=6,
            limits=BAD_FROM_1,
        ),
        number(
            "Runs with a change",
            "Runs in which a user changed the policy or the load, or caused a fault. Their numbers "
            "do not belong to a single policy or load.",
            "short",
            Select(f"SELECT count(*) FILTER (WHERE switched) AS runs {runs}"),
            wide=6,
            limits=((None, GOOD), (1, WARNING)),
        ),
    ]


def _means(values: Mapping[str, str]) -> Select:
    """Return the query for the means of values over each policy's whole runs, by column."""
    means = ",\n".join(f'       avg({value}) AS "{name}"' for name, value in values.items())
    return Select(f"SELECT {NAME},\n{means}\n{WHOLE}")


def _compared() -> list[object]:
    return [
        columns(
            "Revenue efficiency and completed requests",
            "Revenue efficiency: confirms divided by the bound, the most sales any policy could "
            "make without knowing who will buy. Requests completed: the share of the planned "
            "requests. Far above capacity, SQ reaches a few per cent of the bound, and 8Q-LIFO-Pri "
            "reaches about two thirds.",
            "percentunit",
            _means(
                {
                    "revenue efficiency": "revenue_efficiency_ratio",
                    "requests completed": "completed_ratio",
                }
            ),
            {"revenue efficiency": GOOD, "requests completed": ACCENT},
        ),
        columns(
            "Outcomes of attempts",
            "Mean number of attempts per run. timed_out: the customer left without an answer. "
            "rejected: the customer got the rejection page.",
            "short",
            _means(
                {
                    "completed": "completed_requests",
                    "timed_out": "timed_out_attempts",
                    "dropped": "dropped_attempts",
                    "rejected": "rejected_attempts",
                    "failed": "refused_attempts + failed_attempts",
                }
            ),
            OUTCOMES,
        ),
        columns(
            "Response times of completed requests",
            "Times in paper seconds. A policy that drops many requests may look fast here, so "
            "compare the outcomes, too.",
            "s",
            _means(
                {
                    "half": "response_p50_s",
                    "9 in 10": "response_p90_s",
                    "99 in 100": "response_p99_s",
                }
            ),
            QUANTILES,
        ),
        columns(
            "Sessions",
            "Shares of the arrived sessions. An admission policy turns some sessions away and "
            "lets the others finish; without it, most sessions are lost in a rush. "
            "Never let in: the session received no page, and its first attempt was not rejected. "
            "Lost: the session received some pages, but not all.",
            "percentunit",
            _means(
                {
                    "completed": "completed_sessions::float8 / arrived_sessions",
                    "lost": "lost_sessions::float8 / arrived_sessions",
                    "never let in": "never_let_in_sessions::float8 / arrived_sessions",
                    "rejected": "rejected_sessions::float8 / arrived_sessions",
                }
            ),
            {"completed": GOOD, "lost": BAD, "never let in": SOFT, "rejected": WARNING},
            most=1,
        ),
        columns(
            "CPU spent on customers who had left",
            "The share of the server's CPU time that was spent after the customer had left. "
            "Cancelling can save this time.",
            "percentunit",
            _means({"wasted": "wasted_cpu_ratio"}),
            {"wasted": BAD},
        ),
        columns(
            "Confirms",
            "Mean number of orders per run, and the bound: the most orders that any policy could "
            "reach at this load without knowing who will buy.",
            "short",
            Select(
                f"SELECT {NAME},\n"
                '       avg(confirms) AS "confirms", avg(confirm_bound) AS "bound"\n'
                f"{WHOLE}"
            ),
            {"confirms": GOOD, "bound": ACCENT},
        ),
    ]


def _runs() -> list[object]:
    figures = {
        "ρ": "none",
        "duration": "s",
        "completed": "percentunit",
        "efficiency": "percentunit",
        "confirms": "short",
        "throughput": "reqps",
        "9 in 10": "s",
        "CPU wasted": "percentunit",
        "late": "percentunit",
    }
    return [
        rows(
            "Runs",
            "Click on a run to open it on a live dashboard or to open its requests in the lab "
            "console. The live dashboard shows the run as long as Prometheus keeps the data.",
            Select(RUN_ROWS),
            units=figures,
            links={
                "run": [
                    (
                        "Rush at a glance",
                        f"/d/{uid('rush')}?from=${{__data.fields.from_ms}}"
                        "&to=${__data.fields.to_ms}"
                        "&var-run=${__data.fields.experiment}/${__data.fields.run}",
                    ),
                    (
                        "Request by request",
                        "${console}/results/${__data.fields.experiment}/attempts"
                        "?run=${__data.fields.folder}",
                    ),
                ]
            },
            hidden=("experiment", "folder", "from_ms", "to_ms"),
        ),
        rows(
            "Events",
            "The events of these runs: beginning, changes of policy or load, faults, end.",
            Select(
                'SELECT at, number AS "run", time_s AS "paper time", kind AS "event",\n'
                '       words AS "what"\n'
                "FROM results.events JOIN results.runs USING (experiment, number)\n"
                f"WHERE {CHOSEN} ORDER BY number, place"
            ),
            units={"paper time": "s"},
            tall=8,
        ),
    ]


def _all() -> list[object]:
    return [
        rows(
            "Experiments",
            "The newest 500 experiments, regardless of the time range above. Click on "
            "a title to open the experiment in the lab console or on this dashboard.",
            Select(
                'SELECT title, engine, began_at AS "began", ended_at AS "ended",\n'
                '       whole_runs AS "whole runs", planned_runs AS "planned",\n'
                '       capacity_rps AS "capacity", page_profile AS "page work",\n'
                '       doorbuster_version AS "version", machine, experiment\n'
                "FROM results.experiments ORDER BY began_at DESC LIMIT 500"
            ),
            units={"capacity": "reqps"},
            links={
                "title": [
                    (
                        "Open it on this dashboard",
                        f"/d/{uid('results')}?var-experiment=${{__data.fields.experiment}}",
                    ),
                    ("Lab console", "${console}/results/${__data.fields.experiment}/"),
                ]
            },
            hidden=("experiment",),
        ),
        lines(
            "Revenue efficiency over time",
            "One point for each complete live run above capacity in the time range above. The "
            "points of a policy should stay at the same height from one version of the code to "
            "the next.",
            "percentunit",
            Select(
                'SELECT started_at AS "time", runs.title AS metric,\n'
                '       revenue_efficiency_ratio AS "efficiency"\n'
                "FROM results.runs JOIN results.experiments USING (experiment)\n"
                "WHERE engine = 'live' AND rho > 1 AND revenue_efficiency_ratio IS NOT NULL\n"
                "  AND $__timeFilter(started_at) ORDER BY started_at",
                over_time=True,
            ),
            wide=24,
        ),
    ]
