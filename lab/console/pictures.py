"""Pictures of what was published, for the gallery: drawn from `published.toml`.

Owns: one small picture per paper. Must not know: results of this project.
"""

from pathlib import Path

from lab.experiments.published import published

FOLDER = Path(__file__).parent / "static" / "console" / "published"
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00")


def draw_all(folder: Path = FOLDER) -> list[Path]:
    """Write every picture; the same figures make the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_save(name, folder) for name in _PICTURES]


def _save(name: str, folder: Path) -> Path:
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        _PICTURES[name](axes, published())
        axes.spines[["top", "right"]].set_visible(False)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path


def _lifo_pri(axes, known):
    bound = 647 / 1.4
    names = ("SQ", "8Q-AF", "8Q-LIFO-Pri")
    confirms = (8, 15, 50)
    axes.bar(names, confirms, color=COLOURS[:3])
    for place, value in enumerate(confirms):
        axes.annotate(f"{value}", (place, value), ha="center", va="bottom")
    axes.set(ylabel="confirms of 24,000 sessions", title="Purchases at ρ = 1.4, published")
    axes.annotate(f"the best possible: about {bound:.0f}", (0, 47), color="0.35")


def _sbac(axes, known):
    days = known["sbac"]["table2_aborted_percent"]
    names = ("stable", "responsive", "hybrid", "predictive")
    for offset, (day, words) in enumerate((("usual_day", "usual day"), ("busy_day", "busy day"))):
        heights = [days[day][name]["5"] for name in names]
        places = [place + 0.4 * offset for place in range(len(names))]
        axes.bar(places, heights, 0.38, color=COLOURS[offset], label=words)
    axes.set_xticks([place + 0.2 for place in range(len(names))], names)
    axes.set(ylabel="aborted sessions, %", title="Table 2, sessions of 5 requests, published")
    axes.legend(frameon=False)


def _connection_sentry(axes, known):
    rows = known["connection_sentry"]["table1_latency_by_patience_s"]["search"]
    places = list(range(len(rows)))
    axes.bar(places, [pair[0] for pair in rows.values()], 0.38, color=COLOURS[0], label="standard")
    right = [place + 0.4 for place in places]
    axes.bar(right, [pair[1] for pair in rows.values()], 0.38, color=COLOURS[2], label="sentry")
    axes.set_xticks([place + 0.2 for place in places], [f"{patience} s" for patience in rows])
    axes.set(ylabel="latency, s", title="Search, by the patience of others, published")
    axes.margins(y=0.2)  # room for the legend
    axes.legend(frameon=False, ncols=2)


def _ad_server(axes, known):
    table = known["ad_server"]["table4"]["concepts_10"]
    clients = [int(count) for count in table]
    axes.plot(clients, [pair[0] for pair in table.values()], "o-", color=COLOURS[0], label="low")
    axes.plot(clients, [pair[1] for pair in table.values()], "s--", color=COLOURS[1], label="high")
    axes.set(xlabel="clients", ylabel="response time, s", title="Priority by threads, published")
    axes.legend(frameon=False, title="priority")


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


_PICTURES = {
    "lifo-pri": _lifo_pri,
    "sbac": _sbac,
    "connection-sentry": _connection_sentry,
    "ad-server": _ad_server,
    "edragon": _edragon,
}

if __name__ == "__main__":
    draw_all()
