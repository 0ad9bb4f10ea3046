"""Every package has a README whose table names its modules; docstrings have no headers."""

import ast
import re

import pytest

from tests.test_arrows import REPOSITORY

PARTS = (
    *("bench", "common", "dashboards", "doorbuster", "gateway", "hosting", "loadgen", "runtime"),
    *("shop", "simulator"),
)
PACKAGES = sorted(
    str(path.parent.relative_to(REPOSITORY))
    for part in PARTS
    for path in (REPOSITORY / part).rglob("__init__.py")
    if path.parent.name != "migrations"
)
FIRST_PARAGRAPH = re.compile(r"[\w`](.+\n)*.*[.](\n|$)")
HEADERS = re.compile(r"\bOwns:|\bMust\s+not\s+know:")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_of_a_readme_names_exactly_the_modules(package: str) -> None:
    folder = REPOSITORY / package
    _, _, table = (folder / "README.md").read_text(encoding="utf-8").partition("| module |")
    rows = re.findall(r"^\| `(\w+\.py)` \| \S.* \|$", table, re.MULTILINE)
    assert sorted(rows) == sorted({path.name for path in folder.glob("*.py")} - {"__init__.py"})


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_of_modules_begin_with_a_sentence(package: str) -> None:
    """What a module may know is in the README and in the test of the arrows."""
    wrong = []
    for path in sorted((REPOSITORY / package).rglob("[!0-9]*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if said is None or HEADERS.search(said) or not FIRST_PARAGRAPH.match(said):
            wrong.append(str(path.relative_to(REPOSITORY)))
    assert wrong == []
