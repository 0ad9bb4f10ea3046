"""Reading PromQL: the series that a query names, its labels, and the labels of its answer.

`promql_parser` is a binding of Prometheus' grammar. The known series come from the collectors
(`dashboards.metrics`), the exporters' list and the recording rules.
"""

from functools import cache

import promql_parser as promql
import yaml

from dashboards import metrics
from runtime.monitoring import SOURCE
from tests.dashboards import exporters

Labels = frozenset[str]
TARGET = frozenset({"job", "instance"})
OF_APPLICATIONS = ("doorbuster_gateway_", "doorbuster_shop_")
"""Series whose targets also have the label of the application (runtime/monitoring.py)."""


class Unknown(ValueError):  # noqa: N818
    """A query names a series or a label that does not exist."""


@cache
def scraped():
    """Return every series that Prometheus gets, and all its labels."""
    parts = metrics.every()
    own = {
        series: frozenset(metric.labels) | ({"le"} if series.endswith("_bucket") else set())
        for described in parts.values()
        for metric in described
        for series in metric.series
    }
    of_library = {metric.name for metric in parts[metrics.LIBRARY]}
    theirs = {name: labels for job in exporters.SERIES.values() for name, labels in job.items()}
    found = {name: labels | TARGET for name, labels in (own | theirs).items()}
    for name in found:
        if name.startswith(OF_APPLICATIONS) or name in of_library:
            found[name] |= {"application"}
    return {**found, "up": TARGET | {"application"}}


@cache
def recorded():
    """Return every series that a recording rule makes, and its labels."""
    found: dict[str, Labels] = {}
    for rule in rules("recording"):
        found[rule["record"]] = answer_labels(rule["expr"], {**scraped(), **found})
    return found


def rules(name):
    """Return the rules of one file."""
    text = (SOURCE / "rules" / f"{name}.yml").read_text(encoding="utf-8")
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def known():
    """Return every possible series."""
    return {**scraped(), **recorded()}


def answer_labels(query, series=None):
    """Return the labels of the query's answer.

    Raises ValueError when it does not parse, Unknown when a series or a label in it is not among
    `series` (everything known, if not given).
    """
    return _labels(promql.parse(query), known() if series is None else series)


def _labels(expr, series):
    match expr:
        case promql.VectorSelector():
            return _of_series(expr, series)
        case promql.MatrixSelector():
            return _of_series(expr.vector_selector, series)
        case promql.AggregateExpr():
            return _of_aggregate(expr, series)
        case promql.BinaryExpr():
            return _of_binary(expr, series)
        case promql.Call():
            return _of_call(expr, series)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            return _labels(expr.expr, series)
        case promql.NumberLiteral() | promql.StringLiteral():
            return frozenset()
    raise Unknown(f"{type(expr).__name__}: this test does not know such a term")


def _of_series(selector, series):
    if selector.name not in series:
        raise Unknown(f"{selector.name}: there is no such series")
    labels = series[selector.name]
    _check((matcher.name for matcher in selector.matchers.matchers), labels, selector)
    return labels


def _of_aggregate(expr, series):
    inner = _labels(expr.expr, series)
    if expr.param is not None:
        _labels(expr.param, series)
    if str(expr.op) in ("topk", "bottomk", "limitk"):
        return inner
    if expr.modifier is None:
        return frozenset()
    _check(expr.modifier.labels, inner, expr)
    named = frozenset(expr.modifier.labels)
    is_by = expr.modifier.type == promql.AggModifierType.By
    return named if is_by else inner - named


def _of_binary(expr, series):
    left, right = _labels(expr.lhs, series), _labels(expr.rhs, series)
    modifier = expr.modifier
    if modifier is None:
        return left or right
    if modifier.matching is not None:
        _check(modifier.matching.labels, left | right, expr)
    if modifier.group_labels is not None:
        _check(modifier.group_labels, left | right, expr)
        return left | frozenset(modifier.group_labels)
    return left or right


def _of_call(expr, series):
    name = expr.func.name
    found = [_labels(argument, series) for argument in expr.args]
    labels = frozenset().union(*found)
    if name == "histogram_quantile":
        _check(["le"], labels, expr)
        return labels - {"le"}
    if name in ("label_replace", "label_join"):
        return labels | {expr.args[1].val}
    return labels


def _check(names, labels, where):
    for name in names:
        if name not in labels:
            there = ", ".join(sorted(labels)) or "none"
            raise Unknown(f"{name}: no such label in {where.prettify()}; there are {there}")
