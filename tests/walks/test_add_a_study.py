"""A study is added with a folder and a line of the registry, a figure of it with three files."""

import pytest

from tests.walks import guide
from tests.walks.copies import ProjectCopy

pytestmark = pytest.mark.slow


FOLDER = "lab/studies/burst"
REGISTRY = "lab/studies/registry.py"
LINE = '"burst": "lab.studies.burst",'


@pytest.fixture
def burst(copy: ProjectCopy) -> ProjectCopy:
    """A copy of the project with the guide's study."""
    copy.take(FOLDER)
    copy.write(f"{FOLDER}/__init__.py", "")
    assert f"`{LINE}`" in guide.GUIDE.read_text(encoding="utf-8")
    copy.replace(REGISTRY, "    {\n", f"    {{\n        {LINE}\n")
    return copy


def report_of(copy: ProjectCopy) -> str:
    """Reproduce the study and return its report."""
    said = copy.doorbuster("reproduce", "burst", "--quick", "--processes", "1")
    assert "of 1 claims hold." in said  # few sessions: it may be undecided
    (report,) = (copy.folder / "results").glob("*-reproduce-burst-quick/report.html")
    return report.read_text(encoding="utf-8")


def test_a_study_takes_a_folder_and_a_line(burst: ProjectCopy) -> None:
    """It can be reproduced, and its report has the text of `report.md`."""
    names = ("__init__", "cases", "claims", "figures", "measures", "study")
    files = {f"{FOLDER}/{name}.py" for name in names} | {f"{FOLDER}/report.md"}
    assert burst.touched() == files | {REGISTRY}
    assert "[burst|" in "".join(burst.doorbuster("reproduce", "--help").split()).replace("{", "[")
    text = report_of(burst)
    assert "Each run has 300 sessions. " in text
    assert "The study uses 5 and 100 places." in text


def test_a_figure_takes_three_files(burst: ProjectCopy) -> None:
    """It is drawn, and the report has its text."""
    before = {path: (burst.folder / path).read_bytes() for path in burst.touched()}
    for name in ("measures.py", "figures.py", "report.md"):
        (text,) = guide.additions(f"{FOLDER}/{name}")
        burst.append(f"{FOLDER}/{name}", text)
    figures = f"{FOLDER}/figures.py"
    line = "from lab.studies.burst.measures import completed_percent\n"
    burst.replace(figures, line, line.replace("import ", "import completed_length, "))
    first = 'self.text.figure("figure-1", (panel,))'
    burst.replace(figures, f"[{first}]", f"[{first}, self.lengths()]")
    changed = {path for path, text in before.items() if (burst.folder / path).read_bytes() != text}
    assert changed == {f"{FOLDER}/{name}" for name in ("measures.py", "figures.py", "report.md")}
    text = report_of(burst)
    assert "Figure 2: length of completed sessions" in text
    (drawn,) = (burst.folder / "results").glob("*/figures/figure-2.csv")
    assert len(drawn.read_text(encoding="utf-8").splitlines()) == 3
