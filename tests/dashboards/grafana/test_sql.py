"""Every SQL of the dashboards runs as the role that may only read, and finds a published result."""

import re

import pytest

from dashboards.grafana.asking import committed, sql
from lab.experiments import results_database
from lab.experiments.results_database import READER
from tests.results_in_postgres import connected, own_database, small_result

DASHBOARDS = committed()
QUERIES = [
    pytest.param(query, id=f"{name}: {what}")
    for name, dashboard in DASHBOARDS.items()
    for what, query in sql(dashboard)
]

WITHOUT_ROWS = ("engine = 'live'", "kind IN ('switched'")
"""Of these queries a simulation, in which nobody changed anything, has no rows."""


@pytest.fixture(scope="module")
def results(appliance_database, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        small_result(folder, patch)
    with own_database(appliance_database, folder) as lab:
        results_database.prepare(lab, pytest.fail)
        yield lab


def filled(query: str, experiment: str, policies: list[str]) -> str:
    """As Grafana sends it: variables quoted, macros of time written out."""
    values = {
        "experiment": [experiment],
        "policy": policies,
        "runs": ["1", "2"],
        "run": [f"{experiment}/1"],
    }

    def quoted(match: re.Match[str]) -> str:
        chosen = values[match[1]]
        if "= ${" + match[1] in query:  # of one value
            chosen = chosen[-1:]
        return ",".join("'" + value.replace("'", "''") + "'" for value in chosen)

    query = re.sub(r"\$\{(\w+):sqlstring\}", quoted, query)
    query = re.sub(
        r"\$__timeFilter\(([\w.]+)\)",
        r"\1 BETWEEN now() - interval '90 days' AND now() + interval '1 day'",
        query,
    )
    assert "$" not in query
    return query


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_runs_and_returns_rows(results, query):
    with connected(results, READER) as reader:
        ((experiment,),) = reader.execute("SELECT experiment FROM results.experiments").fetchall()
        policies = [t for (t,) in reader.execute("SELECT DISTINCT title FROM results.runs")]
        answer = reader.execute(filled(query, experiment, policies).encode())
        rows = answer.fetchall()
        live = any(words in query for words in WITHOUT_ROWS)
        assert bool(rows) != live
        as_if_live = filled(query, experiment, policies).replace("engine = 'live'", "true")
        if "kind IN" not in query and "revenue_efficiency_ratio AS" not in query:
            assert reader.execute(as_if_live.encode()).fetchall()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_annotations_have_the_columns_that_grafana_reads(results, name):
    with connected(results, READER) as reader:
        for annotation in DASHBOARDS[name]["annotations"]["list"]:
            answer = reader.execute(filled(annotation["target"]["rawSql"], "x", ["x"]).encode())
            columns = {column.name for column in answer.description}
            assert {"time", "text", "tags"} <= columns <= {"time", "timeend", "text", "tags"}
