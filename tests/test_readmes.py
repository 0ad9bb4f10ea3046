"""Packages with a README: its table names their modules, and docstrings have no headers."""

import ast
import re

import pytest

from tests.test_arrows import REPOSITORY

PACKAGES = (
    "bench",
    "bench/classroom",
    "bench/console",
    "common",
    "dashboards",
    "dashboards/grafana",
    "dashboards/grafana/boards",
    "doorbuster",
    "gateway",
    "gateway/admin",
    "gateway/http",
    "gateway/policies",
    "gateway/queues",
    "gateway/shadow",
    "gateway/students",
    "gateway/tls",
    "hosting",
    "hosting/ecm",
    "loadgen",
    "loadgen/customers",
    "loadgen/records",
    "loadgen/workload",
    "runtime",
    "runtime/compose",
    "runtime/native",
    "shop",
    "shop/ads",
    "shop/ads/delivery",
    "shop/ads/management",
    "shop/ads/selection",
    "shop/control",
    "shop/page_costs",
    "shop/sentry",
    "shop/server",
    "shop/stock",
    "simulator",
)
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
        if said is None or HEADERS.search(said) or not re.match(r"[\w`].*[.](\n|$)", said):
            wrong.append(str(path.relative_to(REPOSITORY)))
    assert wrong == []
