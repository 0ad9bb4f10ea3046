"""`python -m dashboards.grafana.preview rush picture.png`: roughly what Grafana shows, without one.

Owns: drawing a committed dashboard's layout with the data of a running Prometheus.
Must not know: how dashboards are made. It is no Grafana: legends, tooltips, links and the panels of
the results database are left out.
"""

import re
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.grafana.asking import known, series_of
from dashboards.grafana.committed import Asked, Json, panels, promql
from runtime.one_line import OneLineCommand

PAGE, CARD, INK, SOFT = "#111217", "#181b1f", "#ccccdc", "#8e8e99"
CYCLE = ("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#b877d9", "#5794f2", "#96d98d")
_INCH_OF_COLUMN, _INCH_OF_ROW = 0.72, 0.42

Lines = Sequence[tuple[str, Any, Any]]
"""Name, Unix seconds, values."""


@click.command(cls=OneLineCommand)
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--prometheus", default="http://127.0.0.1:8088", help="Its address.")
@click.option("--since-s", default=300.0, help="How far back to look, seconds.")
def main(name: str, file: Path, prometheus: str, since_s: float) -> None:
    """Draw dashboard NAME (rush, gateway, …) into FILE (PNG or SVG)."""
    board, now_s = known(name), time.time()
    drawn = draw(name, board, prometheus.rstrip("/"), now_s - since_s, now_s)
    try:
        drawn.savefig(file)
    except (OSError, ValueError) as fault:
        raise click.BadParameter(f"{file}: {fault}", param_hint="FILE") from None


def draw(name: str, board: Json, prometheus: str, from_s: float, to_s: float) -> Figure:
    """The whole dashboard. Raises as `series_of`."""
    asked: dict[str, list[Asked]] = {}
    for query in promql(name, board):
        asked.setdefault(query.panel, []).append(query)
    rows = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in board["panels"]) + 1
    figure = Figure(figsize=(24 * _INCH_OF_COLUMN, rows * _INCH_OF_ROW), facecolor=PAGE, dpi=80)
    figure.text(0.008, 1 - 0.5 / rows, board["title"], color=INK, fontsize=16, va="center")
    for panel in board["panels"]:
        at = panel["gridPos"]
        if panel["type"] == "row":
            y = 1 - (at["y"] + 1.5) / rows
            figure.text(0.008, y, panel["title"], color=INK, fontsize=12, va="center")
    for panel in panels(board):
        at = panel["gridPos"]
        axes = figure.add_axes((
            (at["x"] + 0.9) / 24,
            1 - (at["y"] + at["h"] + 1 - 0.9) / rows,
            (at["w"] - 1.2) / 24,
            (at["h"] - 2.1) / rows,
        ))  # fmt: skip
        found = [
            line
            for query, target in zip(asked.get(panel["title"], ()), panel["targets"], strict=False)
            for line in _lines(series_of(prometheus, query, from_s, to_s), target["legendFormat"])
        ]
        _draw_panel(axes, panel, found, from_s, to_s)
    return figure


def _lines(series: Sequence[Json], legend: str) -> Lines:
    found = []
    for one in series:
        labels: Mapping[str, str] = one["metric"]
        pattern = " ".join(labels.values()) if legend == "__auto" else legend
        name = re.sub(r"\{\{(\w+)\}\}", lambda m: labels.get(m[1], ""), pattern)  # noqa: B023
        times, values = np.array(one["values"], dtype=float).T
        found.append((name, times, values))
    return found


def _draw_panel(axes: Axes, panel: Json, lines: Lines, from_s: float, to_s: float) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    axes.set_facecolor(CARD)
    axes.set_title(panel["title"], loc="left", color=INK, fontsize=9)
    axes.tick_params(colors=SOFT, labelsize=7)
    for spine in axes.spines.values():
        spine.set_color("#2c3235")
    if not lines:
        axes.set_xticks([])
        axes.set_yticks([])
        words = "results database" if "rawSql" in panel["targets"][0] else "no data"
        axes.text(0.5, 0.5, words, color=SOFT, ha="center", va="center", transform=axes.transAxes)
        return
    colours = _colours(panel)
    if panel["type"] == "stat":
        _stat(axes, panel, lines)
        return
    if panel["type"] == "bargauge":
        names, values = [one[0] for one in lines], [one[2][-1] for one in lines]
        axes.barh(names, values, color="#7db8f5")
        axes.set_xlim(0, defaults.get("max"))
        return
    if panel["type"] == "heatmap":
        _heat(axes, lines)
    elif defaults.get("custom", {}).get("stacking", {}).get("mode") == "normal":
        _stacked(axes, lines, colours)
    else:
        for i, (name, times, values) in enumerate(lines):
            axes.plot(times, values, color=colours.get(name, CYCLE[i % len(CYCLE)]), label=name)
        axes.set_ylim(defaults.get("min"), defaults.get("max"))
    axes.set_xlim(from_s, to_s)
    ticks = np.linspace(from_s, to_s, 5)[1:-1]
    axes.set_xticks(ticks, [time.strftime("%H:%M:%S", time.localtime(at)) for at in ticks])
    axes.grid(color="#2c3235", linewidth=0.5)
    if any(name for name, _, _ in lines) and panel["type"] != "heatmap":
        axes.legend(fontsize=6, labelcolor=INK, facecolor=CARD, edgecolor=CARD, loc="upper left")


def _stat(axes: Axes, panel: Json, lines: Lines) -> None:
    name, _, values = max(lines, key=lambda line: line[1][-1])
    axes.set_xticks([])
    axes.set_yticks([])
    if panel["options"]["textMode"] == "name":
        words = "\n".join(textwrap.wrap(name, 34))
    elif panel["fieldConfig"]["defaults"]["unit"] == "percentunit":
        words = f"{100 * values[-1]:.3g} %"
    else:
        words = f"{values[-1]:,.4g}"
    size = 12 if panel["options"]["textMode"] == "name" else 22
    axes.text(
        0.5, 0.5, words, color="#7db8f5", fontsize=size, ha="center", va="center",
        transform=axes.transAxes,
    )  # fmt: skip


def _heat(axes: Axes, lines: Lines) -> None:
    buckets = sorted((one for one in lines if one[0] != "+Inf"), key=lambda one: float(one[0]))
    times = np.unique(np.concatenate([one[1] for one in buckets]))
    sums = np.array([np.interp(times, at, values) for _, at, values in buckets])
    counts = np.diff(sums, axis=0, prepend=0.0).clip(0)
    axes.pcolormesh(times, np.arange(len(buckets)), counts**0.5, cmap="viridis", shading="nearest")
    axes.set_yticks(np.arange(len(buckets))[::2], [one[0] for one in buckets][::2])


def _stacked(axes: Axes, lines: Lines, colours: Mapping[str, str]) -> None:
    seen = np.unique(np.concatenate([one[1] for one in lines]))
    step_s = np.min(np.diff(seen), initial=np.inf)
    times = seen
    if np.isfinite(step_s):
        times = np.unique(np.concatenate([seen, seen + step_s]))  # what ends falls to 0
    names = list(dict.fromkeys(one[0] for one in lines))
    layers = {name: np.zeros(len(times)) for name in names}
    for name, at, values in lines:
        layers[name][np.searchsorted(times, at)] += np.nan_to_num(values)
    fill = [colours.get(name, CYCLE[i % len(CYCLE)]) for i, name in enumerate(names)]
    axes.stackplot(times, list(layers.values()), labels=names, colors=fill, alpha=0.8)


def _colours(panel: Json) -> dict[str, str]:
    return {
        override["matcher"]["options"]: change["value"]["fixedColor"]
        for override in panel["fieldConfig"]["overrides"]
        for change in override["properties"]
        if change["id"] == "color"
    }


if __name__ == "__main__":
    main()
