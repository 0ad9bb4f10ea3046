"""The benchmark of growth: its sizes, its values, its figures and its messages."""

import csv
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner

from bench.growth import command, figures
from bench.growth.axes import Axis, Grown
from bench.growth.command import AXES, Progress, main


def run(*arguments):
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture
def grown():
    found = Grown(AXES["decisions"])
    for size, cost in ((100, 1.0), (1000, 2.0), (10_000, 4.0)):
        found.add(size, {"SQ": cost, "DOOR-LIFO": 2 * cost})
    return found


def test_the_predicted_time_of_all_axes_is_at_most_eight_minutes():
    assert 60 < Progress(list(AXES.values()), is_quick=False).left_s() <= 480
    assert Progress(list(AXES.values()), is_quick=True).left_s() <= 120


def test_the_time_left_falls_to_zero():
    axis = Axis("a", "A", "size", "cost", 1, AXES["decisions"].opened, (1.0, 2.0, 4.0))
    progress = Progress([axis], is_quick=False)
    progress.opened(axis)
    left = [progress.left_s()]
    for size in axis.sizes(is_quick=False):
        progress.measured(axis, size)
        left.append(progress.left_s())
    assert left == sorted(left, reverse=True)
    assert left[-1] == pytest.approx(0)


def test_values_are_read_as_they_were_written(grown, tmp_path):
    figures.write_values([grown], tmp_path / "values.csv")
    [read] = figures.read_values(AXES.values(), tmp_path / "values.csv")
    assert read.curves == grown.curves
    assert read.growth("SQ") == 4.0


def test_a_figure_has_the_sizes_and_every_curve(grown, tmp_path):
    path = figures.draw(grown, tmp_path, "make bench-growth")
    text = "".join(ET.parse(path).getroot().itertext())
    for shown in ("100", "1,000", "10,000", "SQ", "DOOR-LIFO", "waiting requests"):
        assert shown in text


def test_a_quick_measurement_prints_a_table_and_draws_where_it_is_told(tmp_path):
    found = run("--quick", "--axes", "decisions", "--figures", str(tmp_path))
    assert found.exit_code == 0, found.output
    assert "8Q-LIFO-Pri" in found.output
    assert (tmp_path / "decisions.svg").exists()
    assert run("--redraw", "--axes", "decisions", "--figures", str(tmp_path)).exit_code == 0


def test_a_quick_measurement_leaves_the_figures_of_the_documentation_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "FIGURES", tmp_path / "growth")
    assert run("--quick", "--axes", "decisions").exit_code == 0
    assert not (tmp_path / "growth").exists()


def test_a_redraw_without_values_says_what_is_missing(tmp_path):
    found = CliRunner().invoke(main, ["--redraw", "--figures", str(tmp_path)])
    assert found.exit_code == 1
    assert "values.csv" in found.output


def test_the_documented_table_has_the_ranges_of_the_figures():
    series = {}
    with (command.FIGURES / "values.csv").open() as file:
        for row in csv.DictReader(file):
            curves = series.setdefault(row["axis"], {})
            curves.setdefault(row["curve"], {})[float(row["size"])] = float(row["cost"])
    page = (command.REPOSITORY / "docs" / "performance.md").read_text(encoding="utf-8")
    table = page.partition("| cost | size | curves |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]
    documented = []
    for _, _, curves, *ranges in rows:
        names = curves.split("; ")
        shown = [[float(limit) for limit in one.split(" to ")] for one in ranges]
        shown = [pytest.approx([one[0], one[-1]], rel=0.006, abs=0.006) for one in shown]
        found = [
            axis
            for axis, costs in series.items()
            if set(names) <= set(costs) and ranges_of([costs[name] for name in names]) == shown
        ]
        assert len(found) == 1, (curves, ranges)
        documented += [(found[0], name) for name in names]
    assert sorted(documented) == sorted((axis, name) for axis in series for name in series[axis])


def ranges_of(curves):
    """Return the lowest and the highest cost at the usual size and at a hundred times this size,
    and the lowest and the highest ratio of the two.
    """
    usual = [costs[min(costs)] for costs in curves]
    large = [costs[100 * min(costs)] for costs in curves]
    ratios = [after / before for before, after in zip(usual, large, strict=True)]
    return [[min(values), max(values)] for values in (usual, large, ratios)]
