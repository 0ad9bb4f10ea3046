"""Pictures of published results for the gallery, drawn from the numbers in `published.toml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.analysis.published import PAPERS, published
from lab.report.drawing.figure import (
    GALLERY_INCHES,
    gallery_picture,
    new_figure,
    place_legends,
    save_gallery_picture,
    sign,
)
from lab.report.drawing.palette import COLOURS, curve_styles
from lab.report.drawing.plots import named_bars, paired_bars, stacked_bars
from lab.wording import title_of

if TYPE_CHECKING:
    from lab.report.drawing.figure import Axes

FOLDER = Path(__file__).parent / "static" / "console" / "published"


def draw_all(folder: Path = FOLDER) -> list[Path]:
    """Write all pictures. The same numbers always give the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_save(name, folder) for name in _PICTURES]


def _save(name: str, folder: Path) -> Path:
    with gallery_picture(name):
        figure, (axes,) = new_figure(1, 1, GALLERY_INCHES)
        _PICTURES[name](axes, published())
        axes.spines[["top", "right"]].set_visible(False)
        place_legends(figure)
        paper = next(paper for key, paper in PAPERS.items() if name.startswith(key))
        sign(figure, " · ".join(filter(None, (paper, _NUMBERS.get(name), "published"))))
        return save_gallery_picture(figure, folder / f"{name}.svg")


Known = Mapping[str, Any]
"""The content of published.toml."""
_LIFO_PRI_POLICIES = {"sq": "SQ", "8q_af": "8Q-AF", "8q_lifo_pri": "8Q-LIFO-Pri"}


def _confirms(axes: Axes, known: Known) -> None:
    table = known["lifo_pri"]["table4"]
    bound = table["rho_0_85"]["completed"][-1] / 1.4
    confirms = [table["rho_1_40"][name]["completed"][-1] for name in _LIFO_PRI_POLICIES]
    named_bars(axes, _LIFO_PRI_POLICIES.values(), confirms, "{:g}".format)
    axes.set(ylabel="confirms of 24,000 sessions", title="Purchases at ρ = 1.4, published")
    axes.annotate(f"the best possible: about {bound:.0f}", (0, 47), color="0.35")


def _answered_in_time(axes: Axes, known: Known) -> None:
    shares = known["lifo_pri"]["claims"]["response_under_5s_share_br1_rho_1_4"]
    names = [title for name, title in _LIFO_PRI_POLICIES.items() if name in shares]
    named_bars(axes, names, [100 * shares[name] for name in _LIFO_PRI_POLICIES], "{:.0f} %".format)
    axes.set(
        ylabel="% of first pages", ylim=(0, 100), title="Answered within 5 s at ρ = 1.4, published"
    )


def _fates(axes: Axes, known: Known) -> None:
    table = known["lifo_pri"]["table5"]["rho_1_40"]
    fates = {
        "completed": COLOURS[2],
        "timed_out": COLOURS[0],
        "dropped": COLOURS[4],
        "not_generated": "0.75",
    }
    parts = {
        fate.replace("_", " "): ([table[fate][name] for name in _LIFO_PRI_POLICIES], colour)
        for fate, colour in fates.items()
    }
    stacked_bars(axes, list(_LIFO_PRI_POLICIES.values()), parts)
    axes.set(xlabel="% of all requests", xlim=(0, 100), title="Table 5, ρ = 1.4, published")


def _stages(axes: Axes, known: Known) -> None:
    table = known["lifo_pri"]["table4"]["rho_1_40"]
    stages = ("Tr-1", "Tr-2", "Tr-3", "Tr-4")
    styles = curve_styles(list(_LIFO_PRI_POLICIES.values()))
    for name, title in _LIFO_PRI_POLICIES.items():
        colour, marker, _ = styles[title]
        axes.plot(stages, table[name]["completed"][1:], f"{marker}-", color=colour, label=title)
    axes.set(ylabel="completed", ylim=(0, None), title="On the way to the confirm, published")


def _within_ten_seconds(axes: Axes, known: Known) -> None:
    shares = known["lifo_pri"]["claims"]["fig5_under_10s_share_20s_timeout"]
    names = [title_of(name.replace("_", "-")) for name in shares]
    named_bars(axes, names, [100 * share for share in shares.values()], "{:.0f} %".format)
    axes.set(
        ylabel="% of requests", ylim=(0, 100), title="Fig. 5: answered in under 10 s, published"
    )


def _short_ones(axes: Axes, known: Known) -> None:
    overloaded = known["sbac"]["overloaded"]
    bars = {
        "as they come": (overloaded["bins_original_mean_50"], COLOURS[1]),
        "those that complete": (overloaded["bins_completed_mean_50_at_300"], COLOURS[0]),
    }
    paired_bars(axes, ["≤ 50 requests", "≤ 100", "> 100"], bars)
    axes.set(ylabel="% of sessions", title="Load 300 %, no admission control, published")


def _aborted(axes: Axes, known: Known) -> None:
    days = known["sbac"]["table2_aborted_percent"]
    names = ("stable", "responsive", "hybrid", "predictive")
    bars = {
        "usual day": ([days["usual_day"][name]["5"] for name in names], COLOURS[0]),
        "busy day": ([days["busy_day"][name]["5"] for name in names], COLOURS[1]),
    }
    paired_bars(axes, names, bars)
    axes.set(ylabel="aborted sessions, %", title="Table 2, sessions of 5 requests, published")


def _two_curves(
    axes: Axes, rows: Mapping[str, Any], curves: Iterable[tuple[str, str, str]]
) -> list[int]:
    """Draw two curves, one for each of the two values in a row, and return the rows' numbers. Each
    entry of `curves` is the (label, style, colour) of a curve."""
    numbers = [int(number) for number in rows]
    for place, (label, style, colour) in enumerate(curves):
        heights = [pair[place] for pair in rows.values()]
        axes.plot(numbers, heights, style, color=colour, label=label)
    return numbers


def _home_pages(axes: Axes, known: Known) -> None:
    rows = known["connection_sentry"]["table4_throughput_by_processes"]["home"]
    curves = (("standard", "o-", COLOURS[0]), ("sentry", "s-", COLOURS[2]))
    axes.set_xticks(_two_curves(axes, rows, curves))
    axes.set(xlabel="processes of each kind of client", ylim=(0, None))
    axes.set(ylabel="home pages served", title="Table 4, published")


def _search(axes: Axes, known: Known) -> None:
    rows = known["connection_sentry"]["table1_latency_by_patience_s"]["search"]
    bars = {
        "standard": ([pair[0] for pair in rows.values()], COLOURS[0]),
        "sentry": ([pair[1] for pair in rows.values()], COLOURS[2]),
    }
    paired_bars(axes, [f"{patience} s" for patience in rows], bars)
    axes.set(ylabel="latency, s", title="Search, by the patience of others, published")


def _ad_server(axes: Axes, known: Known) -> None:
    rows = known["ad_server"]["table4"]["concepts_10"]
    curves = (("low priority", "o-", COLOURS[0]), ("high priority", "s--", COLOURS[1]))
    _two_curves(axes, rows, curves)
    axes.set(xlabel="clients", ylabel="response time, s", title="Priority by threads, published")


def _edragon(axes: Axes, known: Known) -> None:
    zone = known["edragon"]["zone_e"]
    names = ("CPU manager", "static 2 + 2", "Linux default")
    places = ("equal_priority", "static_2_2", "linux_dynamic")
    heights = [sum(zone[place]["throughput"]) for place in places]
    axes.bar(names, heights, color=COLOURS[:3])
    axes.set(ylabel="replies/s of both", title="Both shops overloaded, published")


_NUMBERS = dict.fromkeys(
    ("lifo-pri-confirms", "lifo-pri-in-time", "lifo-pri-fates", "lifo-pri-stages"),
    "24,000 sessions a run",
)
"""The paper's number of sessions, for the note in the picture."""

_PICTURES: Mapping[str, Callable[[Axes, Known], None]] = {
    "lifo-pri-confirms": _confirms,
    "lifo-pri-in-time": _answered_in_time,
    "lifo-pri-fates": _fates,
    "lifo-pri-stages": _stages,
    "lifo-pri-fig5": _within_ten_seconds,
    "sbac-aborted": _aborted,
    "sbac-short-ones": _short_ones,
    "connection-sentry-home": _home_pages,
    "connection-sentry-search": _search,
    "ad-server": _ad_server,
    "edragon": _edragon,
}

if __name__ == "__main__":
    draw_all()
