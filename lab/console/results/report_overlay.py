"""Several reports of one paper side by side: their claims, and their figures and tables. The
numbers of a figure come from `figures/<key>.csv`. Files that cannot be read are omitted."""

import csv
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lab.console.results.result_list import ResultEntry
from lab.report.drawing.palette import curve_styles

MOST_POINTS = 20_000
"""The maximum number of points that are drawn for one figure of one report."""


def claims(results: Sequence[ResultEntry]) -> list[tuple[str, str, list[Mapping[str, str] | None]]]:
    """Return each claim with its requirement and its row in each report, in the order of the first
    report. The row is None if a report lacks the claim."""
    by_report = [{row.get("Claim", ""): row for row in one.claims} for one in results]
    texts = dict.fromkeys(text for known in by_report for text in known)
    return [
        (
            text,
            next((known[text].get("Required", "") for known in by_report if text in known), ""),
            [known.get(text) for known in by_report],
        )
        for text in texts
    ]


def figures_and_tables(results: Sequence[ResultEntry]) -> list[dict[str, Any]]:
    """Return the figures and tables of all reports, in the order of the first report.

    Each entry has `key`, `heading`, `what`, `parts` and `panels`. `parts` has the result, the
    figure and the tables of each report that has the entry. Each entry of `panels` is one chart.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, result in enumerate(results):
        for one in result.figures_and_tables:
            known = found.setdefault(
                one["key"],
                {
                    "key": one["key"],
                    "heading": one.get("heading", ""),
                    "what": one.get("what", ""),
                    "parts": [],
                    "panels": {},
                },
            )
            known["parts"].append(
                {"result": result, "figure": one["figure"], "tables": one["tables"]}
            )
            _add_panels(known["panels"], place, one, result)
    for known in found.values():
        known["panels"] = list(known["panels"].values())
        for panel in known["panels"]:
            styles = curve_styles([line["curve"] for line in panel["lines"].values()])
            for line in panel["lines"].values():
                line["colour"] = styles[line["curve"]].colour
    return list(found.values())


def _add_panels(
    panels: dict[str, dict[str, Any]], place: int, shown: Mapping[str, Any], result: ResultEntry
) -> None:
    """Add the curves of one figure of a report to the `lines` of the panels."""
    titles = {
        str(table.get("title", "")).split(": ")[0]: table
        for table in shown["tables"]
        if table.get("header")
    }
    for row in _rows(result, shown["key"]):
        table = titles.get(row["panel"], {})
        panel = panels.setdefault(
            row["panel"],
            {
                "title": table.get("title", row["panel"]),
                "x_label": str(table["header"][0]) if table else "",
                "x_names": {},
                "lines": {},
                "published": {},
            },
        )
        x = row["x"]
        if row["x_name"]:
            panel["x_names"][f"{x:g}"] = row["x_name"]
        line = panel["lines"].setdefault(
            f"{place}/{row['curve']}",
            {"report": place, "curve": row["curve"], "x": [], "mean": [], "half": []},
        )
        line["x"].append(x)
        line["mean"].append(row["mean"])
        line["half"].append(row["half_width_95"])
        if row["published"] is not None:
            panel["published"][f"{row['curve']}/{x:g}"] = [row["curve"], x, row["published"]]


def _rows(result: ResultEntry, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row in csv.DictReader(result.text(f"figures/{key}.csv").splitlines()):
        try:
            found.append(
                {
                    **{name: str(row[name] or "") for name in ("panel", "curve", "x_name")},
                    "x": float(row["x"]),
                    **{name: _number(row[name]) for name in ("mean", "half_width_95", "published")},
                }
            )
        except (KeyError, ValueError, TypeError):
            return []
        if not math.isfinite(found[-1]["x"]) or len(found) > MOST_POINTS:
            return []
    return found


def _number(text: str) -> float | None:
    value = float(text) if text else None
    return value if value is not None and math.isfinite(value) else None
