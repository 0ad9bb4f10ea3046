"""The look of figures: colours, legends, axes, the line about their source."""

import re
from datetime import UTC, datetime

import pytest
from matplotlib.figure import Figure

from lab.analysis.cells import read_cells
from lab.report import figures
from lab.report.drawing.figure import finish, from_zero, note, place_legends, save
from tests.lab.attempt_tables import RUSH
from tests.lab.report.test_tables import SPEC, finished
from tests.programs import python


def drawn(*panels):
    """A figure with a panel per argument, each with a line per label; its legends placed."""
    figure = Figure(layout="constrained")
    places = figure.subplots(1, len(panels), squeeze=False)
    for axes, labels in zip(places.flat, panels, strict=True):
        for number, label in enumerate(labels):
            axes.plot([0, 1], [1, 1], color=f"C{number}", label=label)
        finish(axes)
    place_legends(figure)
    figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("number", [2, 12])
def test_a_legend_never_lies_on_the_lines(number):
    """One legend above all panels that mean the same, however many lines there are."""
    figure = drawn([f"{i}" for i in range(number)], [f"{i}" for i in range(number)])
    (legend,) = figure.legends
    lowest = legend.get_window_extent().y0
    assert all(axes.get_window_extent().y1 <= lowest for axes in figure.axes)


def test_panels_with_other_lines_have_legends_of_their_own():
    """A label that means two colours cannot be in a common legend."""
    figure = drawn(["a", "b", "c"], ["b", "a", "c"])
    assert not figure.legends
    for axes in figure.axes:
        assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def test_a_line_that_one_panel_has_alone_joins_the_common_legend():
    """A published value, a bound: they stand last."""
    figure = drawn(["a", "b"], ["a", "b", "published"])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["a", "b", "published"]


@pytest.mark.parametrize(("lowest", "highest"), [(0.2, 1.47), (-0.3, 0.4)])
def test_axes_end_beyond_the_intervals(lowest, highest):
    """An axis begins at 0, or lower where an interval does, and ends above the winner."""
    axes = Figure().subplots()
    middle = (lowest + highest) / 2
    axes.errorbar([2.0], [middle], yerr=[highest - middle], capsize=4)
    from_zero(axes)
    bottom, top = axes.get_ylim()
    assert top > highest
    assert bottom == 0 if lowest > 0 else bottom < lowest


def test_a_figure_tells_experiment_number_and_date(tmp_path):
    """The line stands below all that is drawn, and the same figure is the same file."""
    signed = note("Rush", "4 runs, 3 sessions each", datetime(2026, 1, 2, tzinfo=UTC))
    assert signed == "Rush · 4 runs, 3 sessions each · 2026-01-02"
    folder = finished(tmp_path, SPEC, RUSH)
    words = figures.note_of(folder, read_cells(folder))
    assert re.fullmatch(rf"{SPEC.heading} · 4 runs, 1000 sessions each · \d{{4}}-\d\d-\d\d", words)
    figure = drawn(["a"])
    path = save(figure, tmp_path / "figure", signed)
    assert path.is_file()
    text = next(text for text in figure.texts if text.get_text() == signed)
    below = text.get_window_extent().y1
    assert all(axes.get_tightbbox().y0 >= below for axes in figure.axes)


def test_nothing_imports_matplotlib_before_it_draws():
    """It takes half a second, which every command and every process of the console would pay."""
    program = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "lab.console.site.settings"
import django
django.setup()
import lab.cli.experiments, lab.console.launches.workers, lab.console.urls, lab.report.charts
print("matplotlib" in sys.modules)
"""
    assert python("-c", program, check=True).stdout == "False\n"
