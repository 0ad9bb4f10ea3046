"""Recording rules and alerts name existing series and labels."""

import re

import promql_parser
import pytest

from tests.dashboards.promql import Unknown, answer_labels, known, recorded, rules

RECORDING, ALERTS = rules("recording"), rules("alerts")
_TEMPLATE = re.compile(r"\$labels\.(\w+)")


@pytest.mark.parametrize("rule", RECORDING, ids=lambda rule: rule["record"])
def test_a_recording_rule_is_named_by_its_labels(rule):
    level, metric, operations = rule["record"].split(":")
    labels = answer_labels(rule["expr"])
    # Of a rule that keeps its series' labels only the most telling ones are named.
    named = level.split("_")
    assert set(named) <= labels, (named, sorted(labels))
    if rule["expr"].lstrip().startswith(("sum", "histogram_quantile")):
        assert set(named) == labels
    assert metric.startswith(("doorbuster_", "pg_"))
    assert operations


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_there_is_and_says_what_to_do(rule):
    labels = answer_labels(rule["expr"])
    annotations = rule["annotations"]
    assert set(annotations) == {"summary", "description"}
    for text in annotations.values():
        assert set(_TEMPLATE.findall(text)) <= labels
    assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_every_recorded_series_is_used_or_shown():
    assert len(recorded()) == len(RECORDING)


def test_alerts_are_documented():
    from runtime.settings import REPOSITORY

    page = (REPOSITORY / "docs/monitoring.md").read_text(encoding="utf-8")
    assert [rule["alert"] for rule in ALERTS if f"`{rule['alert']}`" not in page] == []


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("doorbuster_gateway_arivals_total", "no such series"),
        ('rate(doorbuster_gateway_arrivals_total{pages="Br-1"}[10s])', "pages: no such label"),
        ("sum by (outcome) (doorbuster_gateway_arrivals_total)", "outcome: no such label"),
        ("sum by (job) (sum by (page) (doorbuster_gateway_arrivals_total))", "job: no such label"),
        ("histogram_quantile(0.9, sum(doorbuster_ads_selection_seconds_bucket))", "le: no such"),
        ("up * on (page) group_left () up", "page: no such label"),
    ],
)
def test_what_there_is_not_is_found(query, fault):
    with pytest.raises(Unknown, match=fault):
        answer_labels(query)


def test_what_does_not_parse_is_found():
    with pytest.raises(ValueError, match=r"."):
        promql_parser.parse("sum by (page (x)")


def test_answers_have_the_labels_that_prometheus_gives_them():
    for query, labels in (
        ("up", {"job", "instance", "application"}),
        ("sum without (instance) (up)", {"job", "application"}),
        ("max(up)", set()),
        ("1 - avg by (job) (up)", {"job"}),
        ("sum by (page) (rate(doorbuster_gateway_arrivals_total[10s])) > 0", {"page"}),
        (
            "doorbuster_gateway_workers * on (application) group_left (policy) "
            "doorbuster_gateway_policy_info",
            {"job", "instance", "application", "policy"},
        ),
        (
            "histogram_quantile(0.5, sum by (le, page) "
            "(rate(doorbuster_gateway_response_paper_seconds_bucket[1m])))",
            {"page"},
        ),
    ):
        assert answer_labels(query) == labels, query


def test_recorded_series_are_known():
    assert known()["application:doorbuster_shop_cpu:rate10s"] == {"application"}
