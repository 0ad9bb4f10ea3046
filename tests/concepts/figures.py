"""The figures of the concept pages: `python -m tests.concepts.figures [PAGE…]`.

Each figure shows the simulation of its page, so the program runs the page's command first.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes

from lab.analysis.cells import read_cells
from lab.analysis.outcomes import response_times_s
from lab.intervals import Estimate, estimate
from lab.report.drawing.figure import finish, from_zero, new_figure, save
from lab.report.drawing.palette import Style, styles_of
from lab.report.drawing.pictures import Series
from lab.report.drawing.plots import curve, staircase
from lab.report.drawing.svg import compact_svg
from lab.report.figures import note_of
from lab.results.comparison import ComparisonResult
from lab.wording import title_of
from loadgen.workload.sessions import PAGES, SessionModel
from tests.concepts.pages import FIGURES, Page, pages, run

ONE = (7.0, 4.2)
TWO = (10.0, 4.2)
"""Inches of a figure with one and with two panels, as the figures of a result."""
UNTIL_S = 40.0
BUYING = [page for page in PAGES if page.startswith("Tr")]
STUBBORN_RETRIES = 10
LENGTHS = (1, 2, 4, 8, 16, 32)
"""Where the groups of session lengths begin; the last one is open."""

Drawing = Callable[[Path, Path], None]
"""Draws the figure of a result folder into `<stem>.svg`."""


def of_the_result(name: str) -> Drawing:
    """Take a figure that the command draws itself."""

    def draw(result: Path, stem: Path) -> None:
        stem.with_suffix(".svg").write_bytes((result / "figures" / f"{name}.svg").read_bytes())

    return draw


def buying_pages(result: Path, stem: Path) -> None:
    """Draw the response times of transaction pages, policy by policy."""
    folder = ComparisonResult.open(result)
    figure, (axes,) = new_figure(1, 1, ONE)
    for policy, style in styles(folder).items():
        times_s = np.sort(
            np.concatenate(
                [
                    response_times_s(one.attempts(), page)
                    for planned, one in folder.whole_runs()
                    for page in BUYING
                    if planned.policy == policy
                ]
            )
        )
        shown = times_s[np.isfinite(times_s)]
        above = 1 - np.arange(1, len(shown) + 1) / len(times_s)
        staircase(
            axes,
            [0.0, *shown.tolist(), UNTIL_S],
            [1.0, *above.tolist(), 1 - len(shown) / len(times_s)],
            style,
            title_of(policy),
        )
    axes.set(
        xlabel="response time t, paper seconds",
        ylabel="share of attempts\nnot answered within t",
        xlim=(0, UNTIL_S),
        ylim=(0, 1.02),
        title="Response time of Tr-1 to Tr-4 at ρ = 1.4",
    )
    finish(axes)
    save(figure, stem, note_of(folder, read_cells(folder)))


def patience_and_retries(_: Path, stem: Path) -> None:
    """Draw how long customers wait, and how often they ask for a page that never comes."""
    model = SessionModel()
    figure, (left, right) = new_figure(1, 2, TWO)
    times_s = np.linspace(0, 60, 241)
    extra_s = np.clip(times_s - model.timeout_s, 0, None)
    left.plot(times_s, np.exp(-extra_s / model.think_timeout_mean_s), color="#D55E00", linewidth=2)
    left.set(
        xlabel="time since the request, paper seconds",
        ylabel="share of customers who still wait",
        title="Patience",
        xlim=(0, 60),
    )
    again = np.linspace(0, 1, 101)
    for most, dash in ((model.max_retries, "-"), (STUBBORN_RETRIES, "--")):
        attempts = sum(again**number for number in range(most + 1))
        right.plot(
            again,
            attempts,
            dash,
            color="#2A86C4",
            linewidth=2,
            label=f"at most {most} retries",
        )
    for probability, most in ((model.retry_probability, model.max_retries), (0.9, 10)):
        attempts = sum(probability**number for number in range(most + 1))
        right.annotate(
            f"{attempts:.1f}",
            (probability, attempts),
            textcoords="offset points",
            xytext=(-18, 8),
        )
        right.plot([probability], [attempts], "o", color="#D55E00")
    right.set(
        xlabel="probability of a retry",
        ylabel="attempts to get one page",
        title="A page that is never answered",
        xlim=(0, 1),
    )
    for axes in (left, right):
        finish(axes)
        from_zero(axes)
    save(figure, stem, "LIFO-Pri's customers (left); formula of a geometric series (right)")


def by_length(result: Path, stem: Path) -> None:
    """Draw the share of completed sessions by the length that they planned."""
    folder = ComparisonResult.open(result)
    figure, (axes,) = new_figure(1, 1, ONE)
    for policy, style in styles(folder).items():
        shares = [
            completed_by_length(one.attempts())
            for planned, one in folder.whole_runs()
            if planned.policy == policy
        ]
        found = [
            estimate([100 * share[place] for share in shares]) for place in range(len(LENGTHS))
        ]
        series = Series(
            title_of(policy),
            list(range(len(LENGTHS))),
            [one.mean for one in found],
            [one.half_width for one in found],
        )
        curve(axes, series, style)
    axes.set_xticks(range(len(LENGTHS)), length_labels())
    axes.set(
        xlabel="planned requests of a session",
        ylabel="completed sessions, % of all that came",
        title="Which sessions complete at ρ = 3",
        ylim=(0, 100),
    )
    finish(axes)
    save(figure, stem, note_of(folder, read_cells(folder)))


def completed_by_length(attempts: pa.Table) -> list[float]:
    """Return the share of completed sessions in each group of LENGTHS."""
    sessions = attempts["session"].to_numpy()
    steps = attempts["step"].to_numpy()
    completed = np.array(attempts["outcome"].to_pylist()) == "completed"
    number = int(sessions.max()) + 1
    length = np.zeros(number, int)
    np.maximum.at(length, sessions, steps + 1)
    answered = np.bincount(sessions[completed], minlength=number)
    group = np.searchsorted(LENGTHS, length, side="right") - 1
    return [float((answered == length)[group == place].mean()) for place in range(len(LENGTHS))]


def length_labels() -> list[str]:
    """Return the name of each group of LENGTHS."""
    ends = [*(begin - 1 for begin in LENGTHS[1:]), None]
    return [
        f"{begin} and more" if end is None else f"{begin}" if begin == end else f"{begin}–{end}"
        for begin, end in zip(LENGTHS, ends, strict=True)
    ]


def efficiencies(result: Path, stem: Path) -> None:
    """Draw the revenue efficiency against the load: as counted, and as estimated."""
    folder = ComparisonResult.open(result)
    cells = read_cells(folder)
    figure, (left, right) = new_figure(1, 2, TWO)
    for axes, title, value_of in (
        (left, "Efficiency, counted", lambda run: run.revenue_efficiency_ratio),
        (right, "Efficiency, estimated", lambda run: run.estimated_efficiency_ratio),
    ):
        for policy, style in styles(folder).items():
            of_policy = [cell for cell in cells if cell.policy == policy]
            found = [estimate([value_of(run) for run in cell.runs]) for cell in of_policy]
            series = Series(
                title_of(policy),
                [cell.rho for cell in of_policy],
                [one.mean for one in found],
                [one.half_width for one in found],
            )
            curve(axes, series, style)
        axes.axhline(1, color="0.4", linewidth=1, label="the bound")
        axes.set(title=title, xlabel="offered load ρ", ylabel="sales / bound", ylim=(-0.1, 1.4))
        finish(axes)
    save(figure, stem, note_of(folder, cells))


def pairs(result: Path, stem: Path) -> None:
    """Draw each policy's value seed by seed, and the differences with their mean."""
    folder = ComparisonResult.open(result)
    cells = read_cells(folder)
    figure, (left, right) = new_figure(1, 2, TWO)
    values = {cell.policy: [100 * run.completed_ratio for run in cell.runs] for cell in cells}
    seeds = list(range(1, len(cells[0].runs) + 1))
    for policy, style in styles(folder).items():
        mean = estimate(values[policy])
        curve(left, Series(title_of(policy), seeds, values[policy], [None] * len(seeds)), style)
        interval(left, len(seeds) + 1, mean, style)
    first, second = styles(folder)
    differences = [b - a for a, b in zip(values[first], values[second], strict=True)]
    grey = Style("0.35", "o", "")
    curve(right, Series("", seeds, differences, [None] * len(seeds)), grey)
    interval(right, len(seeds) + 1, estimate(differences), grey)
    right.axhline(0, color="0.4", linewidth=1)
    left.set(ylabel="completed requests, %", title="The policies: the intervals overlap")
    right.set(
        ylabel=f"{title_of(second)} less {title_of(first)},\npercentage points",
        title="The differences: the interval excludes 0",
    )
    for axes in (left, right):
        axes.set_xticks([*seeds, len(seeds) + 1], [*map(str, seeds), "mean"])
        axes.set_xlabel("seed")
        finish(axes)
    save(figure, stem, note_of(folder, cells))


def interval(axes: Axes, x: float, found: Estimate, style: Style) -> None:
    """Draw a mean with its 95 % interval."""
    axes.errorbar([x], [found.mean], yerr=[found.half_width], color=style.colour,
                  marker=style.marker, markersize=8, capsize=6, linewidth=2)  # fmt: skip


def styles(folder: ComparisonResult) -> Mapping[str, Style]:
    """Return the style of each policy, in the order of the spec."""
    return styles_of(policy.key for policy in folder.spec().policy)


DRAWINGS: Mapping[str, Drawing] = {
    "load-and-capacity": of_the_result("throughput"),
    "processor-sharing": buying_pages,
    "patience-and-retries": patience_and_retries,
    "fifo-and-lifo": of_the_result("ccdf-br1-rho1.4"),
    "sessions-and-admission": by_length,
    "bound-and-efficiency": efficiencies,
    "metastable-collapse": of_the_result("stubborn"),
    "seeds-and-intervals": pairs,
}


def draw(page: Page) -> None:
    """Run the page's command and write its figure."""
    with TemporaryDirectory() as folder:
        [command] = page.commands
        (Path(folder) / "results").mkdir()
        stem = Path(folder) / page.name
        DRAWINGS[page.name](run(command, Path(folder) / "results"), stem)
        text = compact_svg(stem.with_suffix(".svg").read_text(encoding="utf-8"))
    target = FIGURES / f"{page.name}.svg"
    target.write_text(text, encoding="utf-8")
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    for wanted in pages():
        if wanted.name in (sys.argv[1:] or DRAWINGS):
            draw(wanted)
