"""A metric of a run is added with its declaration and the page of all metrics."""

import pytest

from tests.walks import guide
from tests.walks.copies import ProjectCopy

pytestmark = pytest.mark.slow


METRICS = "lab/analysis/metrics.py"
PAGE = "docs/run-metrics.md"
ROWS = """
import sys
from lab.database.rows import rows_of
(row,) = rows_of(sys.argv[1])["runs"]
print(row["attempts_per_session"])
"""


def test_a_metric_takes_two_files(copy: ProjectCopy) -> None:
    """It is in the tables, their CSV, the database, the console and the documentation."""
    (text,) = guide.additions(METRICS)
    end = ')\n"""All metrics, in the order of the tables\' and the database\'s columns."""\n'
    copy.replace(METRICS, end, text + end)
    copy.make_pages()
    assert copy.touched() == {METRICS, PAGE}
    row = "| `attempts_per_session` | Attempts per session | attempts | Attempts, including"
    assert row in (copy.folder / PAGE).read_text(encoding="utf-8")

    options = ("--sessions", "300", "--repetitions", "1", "--rho", "2", "--processes", "1")
    copy.doorbuster("simulate", "--policies", "sq", *options)
    (result,) = (copy.folder / "results").glob("*-simulated-*")
    (header,) = [
        line
        for line in (result / "tables.md").read_text(encoding="utf-8").splitlines()
        if "Attempts per session" in line
    ]
    assert header.startswith("| ρ | Policy | Arrived |")
    here = f"/results/{result.name}"
    pages = copy.pages(f"{here}/", f"{here}/table/1.csv", f"{here}/curves.json")
    assert "Attempts per session</th>" in pages
    assert "\n2,SQ,Attempts per session," in pages
    assert '"words": "attempts per session"' in pages
    assert 1 < float(copy.python("-c", ROWS, str(result))) < 10
    copy.tests("tests/lab/analysis/test_metrics.py")  # among others, a column of the database
