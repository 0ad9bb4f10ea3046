"""The notebook of a bundle runs as it is, and its numbers are Doorbuster's."""

import json
from pathlib import Path

import nbformat
import pytest

from lab.analysis.cells import read_cells
from lab.bundle.extras import notebook
from lab.results.comparison import ComparisonResult
from lab.results.reference import FOLDER, folders
from tests.programs import python

pytestmark = pytest.mark.slow


SEND = """
import sys
found = table.astype(object).where(table.notna(), None).to_dict("records")
json.dump(found, sys.stdout, default=str)
"""
"""Put after the cells: print the table that the notebook has made."""


def run(folder: Path) -> list[dict]:
    """Run the code cells in a fresh process in the result's folder; its table."""
    cells = nbformat.read(folder / "analysis.ipynb", as_version=4).cells
    program = "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")
    environment = {"MPLBACKEND": "agg", "PATH": "", "MPLCONFIGDIR": str(folder.parent)}
    ended = python("-W", "error", "-P", "-c", program + SEND, cwd=folder, env=environment)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_notebook_shows_the_efficiency_that_doorbuster_shows(race):
    """A process without Doorbuster gets the same numbers from the files alone."""
    cells = read_cells(ComparisonResult(FOLDER / "reference-race"))
    expected = {
        (cell.policy, cell.rho): (
            cell.runs[0].revenue_efficiency_ratio,
            cell.runs[0].completed_ratio,
            cell.confirms,
        )
        for cell in cells
    }
    assert len(expected) == 3
    assert {
        (row["policy"], row["rho"]): (row["efficiency"], row["completed"], row["confirms"])
        for row in run(race)
    } == {key: pytest.approx(values) for key, values in expected.items()}


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_each_included_result_has_a_notebook_that_runs(unpacked, folder):
    """Results without raw logs have shorter tables, and no error."""
    assert run(unpacked(folder)) is not None


@pytest.mark.parametrize("kind", ["comparison", "reproduction"])
def test_the_notebook_has_the_form_of_nbformat_4(kind):
    """Any Jupyter opens it; the title cannot bring markup of its own."""
    made = nbformat.reads(notebook(kind, "A <b>title</b>\n# twice").decode(), as_version=4)
    nbformat.validate(made)
    assert made.cells[0].source.startswith("# A &lt;b&gt;title&lt;/b&gt; # twice\n")
