"""Metrics of a run: declared once, shown everywhere."""

import pytest

from lab.analysis.metrics import BY_NAME, METRICS
from lab.database import schema
from tests.lab.leaderboard.made_up import cell


def test_every_metric_has_a_name_of_its_own():
    """Names are columns of a table."""
    assert len(BY_NAME) == len(METRICS)
    assert all(metric.definition.endswith(".") for metric in METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_database_has_a_column_for_each(metric):
    """Its comment is the definition."""
    kind = "bigint" if metric.is_whole else "double precision"
    made = schema.statements()
    assert f"    {metric.name} {kind},\n" in made
    assert f"COMMENT ON COLUMN results.runs.{metric.name} IS " in made


def test_a_ratio_is_printed_in_percent():
    """0.9 of the requests are 90 %."""
    one = cell("sq", 2.0, 0.9)
    metric = BY_NAME["completed_ratio"]
    ratios = [metric.of(run) for run in one.runs]
    assert metric.text(one).startswith(f"{100 * sum(ratios) / len(ratios):.1f}")


def test_what_no_run_has_is_said():
    """A closed loop has no bound, and a table reports that."""
    empty = type("Cell", (), {"over_known": lambda self, of: None})()
    assert BY_NAME["revenue_efficiency_ratio"].text(empty) == "no buyer planned"
    assert BY_NAME["useful_ratio"].text(empty) == "none"
