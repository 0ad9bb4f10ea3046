"""Each package of the lab has a README with a table of its modules."""

import ast
import re
from pathlib import Path

import pytest

from runtime.settings import REPOSITORY

LAB = REPOSITORY / "lab"
PAPERS = {path.parent for path in (LAB / "studies").glob("*/study.py")}
"""These folders have the same files; lab/studies/README.md describes them once."""
PACKAGES = sorted(
    path.parent
    for path in LAB.rglob("__init__.py")
    if path.parent not in PAPERS and path.parent.name != "migrations"
)
MOST_LINES = 60
HEADERS = re.compile(r"^(Owns|Must not know)\b|\bMust\s+not\s+know:", re.MULTILINE)


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_the_table_of_a_readme_names_exactly_the_modules(package):
    text = (package / "README.md").read_text(encoding="utf-8")
    table = re.split(r"^\| module \| (?:what it holds|content) \|\n", text, flags=re.MULTILINE)[-1]
    rows = re.findall(r"^\| `(\w+\.py)` \| \S.* \|$", table, re.MULTILINE)
    assert sorted(rows) == sorted({path.name for path in package.glob("*.py")} - {"__init__.py"})
    assert len(text.splitlines()) <= MOST_LINES


def test_the_map_of_the_lab_names_every_package():
    text = (LAB / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"^\| \[`(\w+)`\]\((?:\w+)/README\.md\) \|", text, re.MULTILINE))
    assert linked == {path.parent.name for path in LAB.glob("*/__init__.py")}


def test_docstrings_of_modules_begin_with_a_sentence():
    """They have no headers; what a package may know is in its README."""
    wrong = []
    for path in sorted(LAB.rglob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if said is not None and (HEADERS.search(said) or not re.match(r"\w|`", said)):
            wrong.append(name_of(path))
    assert wrong == []
