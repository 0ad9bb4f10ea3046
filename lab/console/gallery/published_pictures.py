"""Pictures of what was published, for the gallery: drawn from `published.toml`."""

from pathlib import Path

from lab.analysis.published import PAPERS, published
from lab.palette import COLOURS, curve_styles
from lab.titles import title_of

FOLDER = Path(__file__).parent / "static" / "console" / "published"


def draw_all(folder: Path = FOLDER) -> list[Path]:
    """Write every picture; the same figures make the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_save(name, folder) for name in _PICTURES]


def _save(name: str, folder: Path) -> Path:
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    from lab.report.figures import place_legends, sign

    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        _PICTURES[name](axes, published())
        axes.spines[["top", "right"]].set_visible(False)
        place_legends(figure)
        paper = next(paper for key, paper in PAPERS.items() if name.startswith(key))
        sign(figure, " · ".join(filter(None, (paper, _NUMBERS.get(name), "published"))))
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path


_LIFO_PRI_POLICIES = {"sq": "SQ", "8q_af": "8Q-AF", "8q_lifo_pri": "8Q-LIFO-Pri"}


def _confirms(axes, known):
    table = known["lifo_pri"]["table4"]
    bound = table["rho_0_85"]["completed"][-1] / 1.4
    confirms = [table["rho_1_40"][name]["completed"][-1] for name in _LIFO_PRI_POLICIES]
    _bars(axes, _LIFO_PRI_POLICIES.values(), confirms, "{:g}")
    axes.set(ylabel="confirms of 24,000 sessions", title="Purchases at ρ = 1.4, published")
    axes.annotate(f"the best possible: about {bound:.0f}", (0, 47), color="0.35")


def _answered_in_time(axes, known):
    shares = known["lifo_pri"]["claims"]["response_under_5s_share_br1_rho_1_4"]
    names = [title for name, title in _LIFO_PRI_POLICIES.items() if name in shares]
    _bars(axes, names, [100 * shares[name] for name in _LIFO_PRI_POLICIES], "{:.0f} %")
    axes.set(
        ylabel="% of first pages", ylim=(0, 100), title="Answered within 5 s at ρ = 1.4, published"
    )


def _fates(axes, known):
    table = known["lifo_pri"]["table5"]["rho_1_40"]
    fates = {
        "completed": COLOURS[2],
        "timed_out": COLOURS[0],
        "dropped": COLOURS[4],
        "not_generated": "0.75",
    }
    left = [0.0] * len(_LIFO_PRI_POLICIES)
    for fate, colour in fates.items():
        shares = [table[fate][name] for name in _LIFO_PRI_POLICIES]
        words = fate.replace("_", " ")
        axes.barh(list(_LIFO_PRI_POLICIES.values()), shares, left=left, color=colour, label=words)
        left = [begin + share for begin, share in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel="% of all requests", xlim=(0, 100), title="Table 5, ρ = 1.4, published")


def _stages(axes, known):
    table = known["lifo_pri"]["table4"]["rho_1_40"]
    stages = ("Tr-1", "Tr-2", "Tr-3", "Tr-4")
    styles = curve_styles(list(_LIFO_PRI_POLICIES.values()))
    for name, title in _LIFO_PRI_POLICIES.items():
        colour, marker, _ = styles[title]
        axes.plot(stages, table[name]["completed"][1:], f"{marker}-", color=colour, label=title)
    axes.set(ylabel="completed", ylim=(0, None), title="On the way to the confirm, published")


def _within_ten_seconds(axes, known):
    shares = known["lifo_pri"]["claims"]["fig5_under_10s_share_20s_timeout"]
    names = [title_of(name.replace("_", "-")) for name in shares]
    _bars(axes, names, [100 * share for share in shares.values()], "{:.0f} %")
    axes.set(
        ylabel="% of requests", ylim=(0, 100), title="Fig. 5: answered in under 10 s, published"
    )


def _bars(axes, names, heights, text):
    names = list(names)
    axes.bar(names, heights, color=[style.colour for style in curve_styles(names).values()])
    for place, height in enumerate(heights):
        axes.annotate(text.format(height), (place, height), ha="center", va="bottom")


def _short_ones(axes, known):
    overloaded = known["sbac"]["overloaded"]
    offered = overloaded["bins_original_mean_50"]
    completed = overloaded["bins_completed_mean_50_at_300"]
    places = list(range(len(offered)))
    axes.bar(places, offered, 0.38, color=COLOURS[1], label="as they come")
    right = [place + 0.4 for place in places]
    axes.bar(right, completed, 0.38, color=COLOURS[0], label="those that complete")
    axes.set_xticks([place + 0.2 for place in places], ["≤ 50 requests", "≤ 100", "> 100"])
    axes.set(ylabel="% of sessions", title="Load 300 %, no admission control, published")


def _aborted(axes, known):
    days = known["sbac"]["table2_aborted_percent"]
    names = ("stable", "responsive", "hybrid", "predictive")
    for offset, (day, words) in enumerate((("usual_day", "usual day"), ("busy_day", "busy day"))):
        heights = [days[day][name]["5"] for name in names]
        places = [place + 0.4 * offset for place in range(len(names))]
        axes.bar(places, heights, 0.38, color=COLOURS[offset], label=words)
    axes.set_xticks([place + 0.2 for place in range(len(names))], names)
    axes.set(ylabel="aborted sessions, %", title="Table 2, sessions of 5 requests, published")


def _home_pages(axes, known):
    rows = known["connection_sentry"]["table4_throughput_by_processes"]["home"]
    processes = [int(count) for count in rows]
    for place, (words, colour) in enumerate((("standard", COLOURS[0]), ("sentry", COLOURS[2]))):
        served = [pair[place] for pair in rows.values()]
        axes.plot(processes, served, "os"[place] + "-", color=colour, label=words)
    axes.set_xticks(processes)
    axes.set(xlabel="processes of each kind of client", ylim=(0, None))
    axes.set(ylabel="home pages served", title="Table 4, published")


def _search(axes, known):
    rows = known["connection_sentry"]["table1_latency_by_patience_s"]["search"]
    places = list(range(len(rows)))
    axes.bar(places, [pair[0] for pair in rows.values()], 0.38, color=COLOURS[0], label="standard")
    right = [place + 0.4 for place in places]
    axes.bar(right, [pair[1] for pair in rows.values()], 0.38, color=COLOURS[2], label="sentry")
    axes.set_xticks([place + 0.2 for place in places], [f"{patience} s" for patience in rows])
    axes.set(ylabel="latency, s", title="Search, by the patience of others, published")


def _ad_server(axes, known):
    table = known["ad_server"]["table4"]["concepts_10"]
    clients = [int(count) for count in table]
    axes.plot(
        clients, [pair[0] for pair in table.values()], "o-", color=COLOURS[0], label="low priority"
    )
    axes.plot(
        clients,
        [pair[1] for pair in table.values()],
        "s--",
        color=COLOURS[1],
        label="high priority",
    )
    axes.set(xlabel="clients", ylabel="response time, s", title="Priority by threads, published")


def _edragon(axes, known):
    zone = known["edragon"]["zone_e"]
    names = ("CPU manager", "static 2 + 2", "Linux default")
    heights = [
        sum(zone["equal_priority"]["throughput"]),
        sum(zone["static_2_2"]["throughput"]),
        sum(zone["linux_dynamic"]["throughput"]),
    ]
    axes.bar(names, heights, color=COLOURS[:3])
    axes.set(ylabel="replies/s of both", title="Both shops overloaded, published")


_NUMBERS = dict.fromkeys(
    ("lifo-pri-confirms", "lifo-pri-in-time", "lifo-pri-fates", "lifo-pri-stages"),
    "24,000 sessions a run",
)
"""How much a picture is made of, where the paper says it."""

_PICTURES = {
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
