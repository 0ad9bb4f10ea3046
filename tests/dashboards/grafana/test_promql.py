"""Every PromQL of the dashboards parses and names existing series and labels."""

import re

import pytest

from dashboards.grafana.committed import committed, panels, promql
from tests.dashboards.promql import answer_labels, known

DASHBOARDS = committed()
QUERIES = {
    asked.expr: f"{name}: {asked.panel} {asked.ref_id}"
    for name, board in DASHBOARDS.items()
    for asked in promql(name, board)
}


@pytest.mark.parametrize("query", QUERIES, ids=QUERIES.values())
def test_a_query_asks_for_what_there_is(query):
    assert answer_labels(query) is not None


@pytest.mark.parametrize("name", DASHBOARDS)
def test_legends_name_labels_that_answers_have(name):
    queries = iter(promql(name, DASHBOARDS[name]))
    for panel in panels(DASHBOARDS[name]):
        targets = [one for one in panel["targets"] if one["datasource"]["type"] == "prometheus"]
        for target, asked in zip(targets, queries, strict=False):
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert named <= answer_labels(asked.expr), asked
            if len(targets) > 1:
                assert target["legendFormat"] != "__auto", asked


def test_the_variable_of_applications_is_there():
    (variable,) = (
        one for one in DASHBOARDS["rush"]["templating"]["list"] if one["name"] == "application"
    )
    series, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
    assert label in known()[series]
