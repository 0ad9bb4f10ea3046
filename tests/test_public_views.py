"""Tests use what a module or a class shows to its users: no private name, not even as text.

Ruff's rule SLF001 holds the same for attributes that are written out.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
BY_NAME = {"getattr", "setattr", "delattr", "hasattr"}
"""The functions, and the methods of pytest's `monkeypatch`, that receive an attribute as text."""


def private_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each private name that a module imports or gives as text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names if _private(alias.name))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BY_NAME:
            for given in node.args[:2]:
                name = given.value if isinstance(given, ast.Constant) else None
                if isinstance(name, str) and any(map(_private, name.split("."))):
                    yield node.lineno, name


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_test_uses_a_private_name() -> None:
    """A private name may change with no change of what users see."""
    found = [
        f"{path.relative_to(TESTS)}:{line}: {name}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, name in private_names(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from shop.checkout import _page", ["_page"]),
        ("monkeypatch.setattr(checkout, '_page', broken)", ["_page"]),
        ("patch.setattr('shop.checkout._page', broken)", ["shop.checkout._page"]),
        ("getattr(gateway, '_parts')", ["_parts"]),
        ("getattr(gateway, '__class__')", []),
        ("from shop.checkout import place_order", []),
        ("answer.setdefault('_page', 1)", []),
    ],
)
def test_a_private_name_is_found(line: str, found: list[str]) -> None:
    """It is found in an import and in a text."""
    assert [name for _, name in private_names(line)] == found
