"""Every SQL of the dashboards runs as the role that may only read, and finds a published result."""

import re

import pytest

from dashboards.grafana.committed import committed, sql
from lab.database import publishing as results_publishing
from lab.database.schema import READER
from tests.results_in_postgres import connected, own_database, small_result

DASHBOARDS = committed()
QUERIES = {
    query: f"{name}: {what}" for name, board in DASHBOARDS.items() for what, query in sql(board)
}
"""Each query once, with one of its places."""

AS_IF_LIVE = """UPDATE results.experiments SET engine = 'live';
UPDATE results.runs SET revenue_efficiency_ratio = coalesce(revenue_efficiency_ratio, 0.1);
INSERT INTO results.events SELECT experiment, number, 99, started_at, 5, 'switched', 'SQ', '{}'
FROM results.runs"""
"""A change of results: a simulation becomes a live run with a switch of the policy."""


@pytest.fixture(scope="module")
def reader(appliance_database, tmp_path_factory):
    """Yield a connection as the role that may only read; a small result is published."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        small_result(folder, patch)
    with own_database(appliance_database, folder) as lab:
        results_publishing.prepare(lab, pytest.fail)
        with connected(lab, lab.postgres_user) as owner:
            owner.execute(AS_IF_LIVE)
        with connected(lab, READER) as reader:
            yield reader


def filled(query, experiment, policies):
    """Return the query as Grafana sends it: variables quoted, macros of time written out."""
    values = {
        "experiment": [experiment],
        "policy": policies,
        "runs": ["1", "2"],
        "run": [f"{experiment}/1"],
    }

    def quoted(match):
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


def answered(reader, query):
    ((experiment,),) = reader.execute("SELECT experiment FROM results.experiments").fetchall()
    policies = [title for (title,) in reader.execute("SELECT DISTINCT title FROM results.runs")]
    return reader.execute(filled(query, experiment, policies).encode())


@pytest.mark.parametrize("query", QUERIES, ids=QUERIES.values())
def test_a_query_runs_and_returns_rows(reader, query):
    rows = answered(reader, query).fetchall()
    assert rows
    assert any(value is not None for row in rows for value in row)


@pytest.mark.parametrize("place", range(3))
def test_annotations_have_the_columns_that_grafana_reads(reader, place):
    annotation = DASHBOARDS["rush"]["annotations"]["list"][place]
    answer = answered(reader, annotation["target"]["rawSql"])
    columns = {column.name for column in answer.description}
    assert {"time", "text", "tags"} <= columns <= {"time", "timeend", "text", "tags"}
    assert all(board["annotations"]["list"][place] == annotation for board in DASHBOARDS.values())
