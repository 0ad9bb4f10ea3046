"""Every test asserts something: itself, or through a helper whose name shows it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
HELPERS = ("assert", "check", "expect")
"""A helper that asserts has a name that begins with one of these."""
PYTEST = {"fail", "raises", "warns"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(source: str) -> Iterator[Function]:
    """The test functions of a module, methods included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function) and node.name.startswith("test_"):
            yield node


def asserts(test: Function) -> bool:
    """Whether a function asserts something or calls a helper that does."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
            if name in PYTEST or name.lstrip("_").startswith(HELPERS):
                return True
    return False


def test_every_test_asserts_something() -> None:
    without = [
        f"{path.relative_to(TESTS)}:{test.lineno}: {test.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for test in functions_of(path.read_text(encoding="utf-8"))
        if not asserts(test)
    ]
    assert without == []


@pytest.mark.parametrize(
    ("body", "is_enough"),
    [
        ("assert 1", True),
        ("with pytest.raises(ValueError): int('x')", True),
        ("chain.expect_settled(before)", True),
        ("_check_orders(7)", True),
        ("wait_until(done)", False),
        ("int('1')", False),
    ],
)
def test_a_test_without_an_assertion_is_found(body: str, is_enough: bool) -> None:
    (test,) = functions_of(f"async def test_it():\n    {body}\n")
    assert asserts(test) is is_enough
