"""The kinds of panels: lines over time, single numbers, bars, tables and heat maps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grafana_foundation_sdk.builders import (
    barchart,
    bargauge,
    common,
    dashboard,
    heatmap,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode, HeatmapColorScale

from dashboards.grafana.colours import ACCENT, BAD, GOOD, WARNING
from dashboards.grafana.queries import Ask, Query

Steps = Sequence[tuple[float | None, str]]
"""The colour steps: (lowest value, colour); the first value is None."""

NEUTRAL: Steps = ((None, ACCENT),)
BAD_FROM_1: Steps = ((None, GOOD), (1, BAD))

Colours = Mapping[str, str]
Panel = Any
"""The type of the SDK's builders, which have no common class."""

_REF_IDS = "ABCDEFGHIJ"

_HALF = 12
"""The minimum width, in columns, for a legend next to the lines."""


def lines(
    title: str,
    says: str,
    unit: str,
    *queries: Query,
    wide: int = 12,
    tall: int = 8,
    stacked: bool = False,
    steps: bool = False,
    most: float | None = None,
    colours: Colours | None = None,
    dashed: Iterable[str] = (),
    limits: Steps | None = None,
) -> Panel:
    """Return a panel with lines over time; `stacked` fills and stacks them, and `limits` adds a
    line at each limit.
    """
    is_wide = wide >= _HALF
    panel = (
        timeseries.Panel()
        .min(0)
        .line_width(2)
        .fill_opacity(55 if stacked else 8)
        .show_points(shapes.VisibilityMode.NEVER)
        .line_interpolation(
            shapes.LineInterpolation.STEP_AFTER if steps else shapes.LineInterpolation.LINEAR
        )
        .stacking(
            common.StackingConfig().mode(
                shapes.StackingMode.NORMAL if stacked else shapes.StackingMode.NONE
            )
        )
        .legend(
            common.VizLegendOptions()
            .display_mode(
                shapes.LegendDisplayMode.TABLE if is_wide else shapes.LegendDisplayMode.LIST
            )
            .placement(shapes.LegendPlacement.RIGHT if is_wide else shapes.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(["lastNotNull", "max"] if is_wide else [])
        )
        .tooltip(
            common.VizTooltipOptions()
            .mode(shapes.TooltipDisplayMode.MULTI)
            .sort(shapes.SortOrder.DESCENDING)
        )
    )
    if most is not None:
        panel = panel.max(most)
    if limits is not None:
        panel = panel.thresholds(_thresholds(limits)).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED)
        )
    for name, colour in (colours or {}).items():
        panel = panel.override_by_name(name, [_fixed(colour)])
    for name in dashed:
        dash = {"fill": "dash", "dash": [10, 6]}
        panel = panel.override_by_name(name, [models.DynamicConfigValue("custom.lineStyle", dash)])
    return _made(panel, title, says, unit, queries, wide, tall)


def number(
    title: str,
    says: str,
    unit: str,
    *queries: Query,
    wide: int = 4,
    tall: int = 4,
    limits: Steps = NEUTRAL,
    words: bool = False,
    digits: int | None = None,
    empty: str = "–",
) -> Panel:
    """Return a panel with the latest value as a number, in front of a line with the values over
    time.

    With `words`, the panel shows the name of the series instead of its value.
    """
    if words:
        queries = _now(queries)
    panel = (
        stat.Panel()
        .color_mode(shapes.BigValueColorMode.VALUE)
        .graph_mode(shapes.BigValueGraphMode.NONE if words else shapes.BigValueGraphMode.AREA)
        .justify_mode(shapes.BigValueJustifyMode.AUTO)
        .text_mode(shapes.BigValueTextMode.NAME if words else shapes.BigValueTextMode.VALUE)
        .reduce_options(_newest())
        .thresholds(_thresholds(limits))
        .no_value(empty)
    )
    if digits is not None:
        panel = panel.decimals(digits)
    return _made(panel, title, says, unit, queries, wide, tall)


def states(
    title: str,
    says: str,
    *queries: Query,
    names: Mapping[str, tuple[str, str]],
    wide: int = 12,
    tall: int = 5,
) -> Panel:
    """Return a panel with a band over time for each series; `names` maps values to texts and
    colours.
    """
    options = {
        value: models.ValueMappingResult(text=text, color=colour, index=place)
        for place, (value, (text, colour)) in enumerate(names.items())
    }
    panel = (
        statetimeline.Panel()
        .show_value(shapes.VisibilityMode.AUTO)
        .row_height(0.8)
        .merge_values(True)
        .fill_opacity(75)
        .mappings([models.ValueMap(options=options)])
        .legend(_legend_below())
    )
    return _made(panel, title, says, "none", queries, wide, tall)


def bars(
    title: str,
    says: str,
    unit: str,
    *queries: Query,
    most: float,
    limits: Steps,
) -> Panel:
    """Return a panel with a bar from 0 to `most` for each series that exists now."""
    queries = _now(queries)
    panel = (
        bargauge.Panel()
        .display_mode(shapes.BarGaugeDisplayMode.BASIC)
        .orientation(shapes.VizOrientation.HORIZONTAL)
        .value_mode(shapes.BarGaugeValueMode.TEXT)
        .reduce_options(_newest())
        .thresholds(_thresholds(limits))
        .min(0)
        .max(most)
    )
    return _made(panel, title, says, unit, queries, 8, 8)


def columns(
    title: str,
    says: str,
    unit: str,
    query: Query,
    colours: Colours,
    most: float | None = None,
) -> Panel:
    """Return a panel with a group of bars for each row of a table, named by its column `policy`."""
    panel = (
        barchart.Panel()
        .x_field("policy")
        .orientation(shapes.VizOrientation.HORIZONTAL)
        .show_value(shapes.VisibilityMode.AUTO)
        .group_width(0.8)
        .fill_opacity(85)
        .min(0)
        .legend(_legend_below())
    )
    if most is not None:
        panel = panel.max(most)
    for name, colour in colours.items():
        panel = panel.override_by_name(name, [_fixed(colour)])
    return _made(panel, title, says, unit, (query,), 12, 9)


def rows(
    title: str,
    says: str,
    *queries: Query,
    units: Mapping[str, str],
    links: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    hidden: Sequence[str] = (),
    tall: int = 9,
) -> Panel:
    """Return a panel with a table; `units` has the units of columns, and `links` the titles and
    URLs of their links.
    """
    panel = table.Panel().show_header(True).cell_height(shapes.TableCellHeight.SM)
    for name, unit in units.items():
        panel = panel.override_by_name(name, [models.DynamicConfigValue("unit", unit)])
    for name, targets in (links or {}).items():
        value = [
            {"title": words, "url": url, "targetBlank": url.startswith("$")}
            for words, url in targets
        ]
        panel = panel.override_by_name(name, [models.DynamicConfigValue("links", value)])
    for name in hidden:
        panel = panel.override_by_name(name, [models.DynamicConfigValue("custom.hidden", True)])
    return _made(panel, title, says, "none", queries, 24, tall)


def heat(title: str, says: str, unit: str, query: Query) -> Panel:
    """Return a panel with a histogram over time; larger counts are brighter."""
    panel = (
        heatmap.Panel()
        .calculate(False)
        .color(
            heatmap.HeatmapColorOptions()
            .mode(HeatmapColorMode.SCHEME)
            .scheme("Viridis")
            .scale(HeatmapColorScale.EXPONENTIAL)
            .exponent(0.5)
            .steps(64)
            .fill("dark-blue")
        )
        .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(shapes.AxisPlacement.LEFT))
        .show_legend()
    )
    return _made(panel, title, says, unit, (query,), 12, 9)


def _now(queries: Sequence[Query]) -> tuple[Query, ...]:
    return tuple(replace(query, now=True) if isinstance(query, Ask) else query for query in queries)


def _newest() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False)


def _legend_below() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .display_mode(shapes.LegendDisplayMode.LIST)
        .placement(shapes.LegendPlacement.BOTTOM)
        .show_legend(True)
    )


def _made(
    panel: Panel,
    title: str,
    says: str,
    unit: str,
    queries: Sequence[Query],
    wide: int,
    tall: int,
) -> Panel:
    panel = panel.title(title).description(says).unit(unit).span(wide).height(tall)
    panel = panel.datasource(queries[0].source)
    for ref_id, query in zip(_REF_IDS, queries, strict=False):
        panel = panel.with_target(query.built(ref_id))
    return panel


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    found = [models.Threshold(value=value, color=colour) for value, colour in steps]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(found)


def _fixed(colour: str) -> models.DynamicConfigValue:
    return models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})


BUSY: Steps = ((None, GOOD), (0.8, WARNING), (0.98, BAD))
"""The colour steps for a ratio that is good below 0.8 and at its limit from 0.98 on."""
