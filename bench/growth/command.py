"""The command that measures how costs grow with a size, and writes tables and figures.

    make bench-growth                                # all axes, about eight minutes
    make bench-growth ARGS=--quick                   # two sizes each, without figures: a minute
    make bench-growth ARGS="--axes decisions,viewers"

All costs are CPU times, so other programs disturb them less than response times. The figures and
their values are written into a folder, by default docs/images/growth.
"""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench import harness
from bench.growth import catalogue, figures, in_memory, real_gateway, viewers
from bench.growth.axes import Axis, Grown
from common.one_line import OneLineCommand
from lab.machine.description import describe_machine
from lab.wording import duration
from runtime.settings import REPOSITORY, load

AXES = {
    axis.key: axis
    for module in (real_gateway, in_memory, catalogue, viewers)
    for axis in module.AXES
}
FIGURES = REPOSITORY / "docs" / "images" / "growth"
QUICK_SHARE = 0.35
"""The expected duration of a quick measurement, as a share of the duration of a usual one."""


class Progress:
    """An estimate of the time left, from the expected time of each part and the time that the
    finished parts took.
    """

    def __init__(self, axes: Sequence[Axis], is_quick: bool) -> None:
        self._expected_s = 0.0
        self._done_s = 0.0
        self._share = QUICK_SHARE if is_quick else 1.0
        for axis in axes:
            self._expected_s += axis.takes_s[0]
            self._expected_s += sum(self._part_s(axis, size) for size in axis.sizes(is_quick))
        self._began_s = time.monotonic()

    def _part_s(self, axis: Axis, size: int) -> float:
        return self._share * axis.expected_s(size)

    def opened(self, axis: Axis) -> None:
        self._done_s += axis.takes_s[0]

    def measured(self, axis: Axis, size: int) -> None:
        self._done_s += self._part_s(axis, size)

    def left_s(self) -> float:
        pace = (time.monotonic() - self._began_s) / self._done_s if self._done_s > 10 else 1.0
        return max(0.0, self._expected_s - self._done_s) * pace


def measure(axes: Sequence[Axis], is_quick: bool, console: Console) -> list[Grown]:
    progress = Progress(axes, is_quick)
    console.print(f"{len(axes)} axes, about {duration(progress.left_s())}.")
    found = []
    with console.status("") as status:
        for number, axis in enumerate(axes, 1):
            grown = Grown(axis)

            def say(what: str, number: int = number, axis: Axis = axis) -> None:
                left = duration(progress.left_s())
                line = f"{number} of {len(axes)}, {axis.title}: {what}; about {left} left"
                status.update(line)
                if not console.is_terminal:
                    console.print(line, soft_wrap=True)

            say("preparing")
            with axis.opened(is_quick) as costs_at:
                progress.opened(axis)
                for size in axis.sizes(is_quick):
                    say(f"{size:,} {axis.x_label.partition(',')[0]}")
                    grown.add(size, costs_at(size))
                    progress.measured(axis, size)
            found.append(grown)
    return found


def table(grown: Grown) -> Table:
    sizes = sorted({size for costs in grown.curves.values() for size in costs})
    shown = harness.table(
        f"{grown.axis.title}: {grown.axis.y_label}",
        *(grown.axis.x_label, *(f"{size:,}" for size in sizes), "largest ÷ smallest"),
    )
    for curve, costs in grown.curves.items():
        values = [_number(costs[size]) for size in sizes]
        shown.add_row(curve, *values, f"{grown.growth(curve):.2f}")
    return shown


def _number(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


@click.command(cls=OneLineCommand)
@click.option("--axes", "chosen", default=",".join(AXES), help="The axes, separated by commas.")
@click.option(
    "--quick", "is_quick", is_flag=True, help="Only two sizes; figures only with --figures."
)
@click.option(
    "--figures",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for figures and values; by default docs/images/growth.",
)
@click.option("--redraw", is_flag=True, help="Only draw the figures again, from stored values.")
def main(chosen: str, is_quick: bool, folder: Path | None, redraw: bool) -> None:
    """Measure how costs grow with a size, print tables and draw figures."""
    unknown = [key for key in chosen.split(",") if key not in AXES]
    if unknown:
        raise click.BadParameter(
            f"there is no axis {unknown[0]!r}; allowed: {', '.join(AXES)}", param_hint="--axes"
        )
    axes = [AXES[key] for key in chosen.split(",")]
    console = harness.console_of(110)
    into = folder or FIGURES
    values = into / figures.VALUES
    if redraw:
        if not values.exists():
            raise click.ClickException(
                f"there are no values to draw: {values} is missing; fix: leave out --redraw"
            )
        _draw(figures.read_values(axes, values), into, console)
        return
    if any(axis in real_gateway.AXES for axis in axes):
        harness.need("nginx", "wrk")
    busy, began_s = os.getloadavg()[0], time.monotonic()
    found = measure(axes, is_quick, console)
    for grown in found:
        console.print(table(grown))
    took = duration(time.monotonic() - began_s)
    console.print(f"Took {took}; load average {busy:.1f} before, {datetime.now(UTC):%Y-%m-%d}.")
    if is_quick and folder is None:
        return
    into.mkdir(parents=True, exist_ok=True)
    earlier = figures.read_values(AXES.values(), values) if values.exists() else []
    kept = {grown.axis.key: grown for grown in (*earlier, *found)}
    figures.write_values((kept[key] for key in AXES if key in kept), values)
    _draw(found, into, console)


def _draw(found: Sequence[Grown], folder: Path, console: Console) -> None:
    machine = describe_machine(load())
    origin = figures.origin_of(f"{machine['cpus']} CPUs of {machine['cpu']}", datetime.now(UTC))
    for grown in found:
        figures.draw(grown, folder, origin)
    console.print(f"Figures: {folder}")
