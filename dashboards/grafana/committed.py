"""The committed dashboards, and the queries in them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("dashboards")

Json = dict[str, Any]

_SCRAPES_IN_A_RATE = 4
"""The minimum number of scrapes in Grafana's $__rate_interval."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of a panel, as Grafana sends it to Prometheus at the highest zoom."""

    dashboard: str
    panel: str
    ref_id: str
    expr: str
    step_s: int


def committed() -> dict[str, Json]:
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("*.json"))
    }


def panels(dashboard: Json) -> list[Json]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def promql(name: str, dashboard: Json, application: str = "shop") -> Iterator[Asked]:
    for panel in panels(dashboard):
        for target in panel["targets"]:
            if target["datasource"]["type"] != "prometheus":
                continue
            step_s = int(target["interval"].removesuffix("s"))
            expr = target["expr"].replace("$application", application)
            expr = expr.replace("$__rate_interval", f"{_SCRAPES_IN_A_RATE * step_s}s")
            yield Asked(name, panel["title"], target["refId"], expr, step_s)


def sql(dashboard: Json) -> Iterator[tuple[str, str]]:
    """Yield each query to PostgreSQL, with the name of its panel, variable or annotation."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            if "rawSql" in target:
                yield panel["title"], target["rawSql"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query" and variable["datasource"]["type"] != "prometheus":
            yield f"variable {variable['name']}", variable["query"]
    for annotation in dashboard["annotations"]["list"]:
        yield f"annotation {annotation['name']}", annotation["target"]["rawSql"]
