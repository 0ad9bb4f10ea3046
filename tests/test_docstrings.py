"""Docstrings agree with the code that they describe, as far as a program can see this."""

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = sorted(path.parent.name for path in REPOSITORY.glob("*/__init__.py"))
DOTTED = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.\w+)+)(?:\(\))?`")


def documented() -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the place, the node and the text of each docstring outside the tests."""
    for name in subprocess.check_output(
        ["git", "ls-files", "*.py"], cwd=REPOSITORY, text=True
    ).split():
        if name.startswith("tests/"):
            continue
        for node in ast.walk(ast.parse((REPOSITORY / name).read_text(encoding="utf-8"))):
            body = getattr(node, "body", ())
            for each in body if isinstance(body, list) else ():
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    yield f"{name}:{each.lineno}", node, str(each.value.value)


def returns_nothing(node: ast.AST) -> bool:
    """Return whether this is a function that is annotated with `-> None`."""
    return (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.returns, ast.Constant)
        and node.returns.value is None
    )


def exists(name: str) -> bool:
    """Return whether a module or a public name in a module has this dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if (REPOSITORY / Path(*parts[:length])).with_suffix(".py").is_file() or (
            REPOSITORY / Path(*parts[:length]) / "__init__.py"
        ).is_file():
            if length == len(parts):
                return True
            module = importlib.import_module(".".join(parts[:length]))
            try:
                reduce(getattr, parts[length:], module)
            except AttributeError:
                return False
            return True
    return False


@pytest.fixture(scope="module")
def docstrings() -> list[tuple[str, ast.AST, str]]:
    """Return what `documented` yields; parsing the whole project takes seconds."""
    return list(documented())


def test_only_functions_that_return_a_value_begin_with_return(
    docstrings: list[tuple[str, ast.AST, str]],
) -> None:
    """A docstring that promises a value belongs to a function that has one."""
    wrong = [
        place
        for place, node, text in docstrings
        if returns_nothing(node) and text.startswith("Return ")
    ]
    assert wrong == []


def test_the_names_in_docstrings_exist(docstrings: list[tuple[str, ast.AST, str]]) -> None:
    """A dotted name of this project in backticks leads to a module or to a name in it."""
    names = [(place, name) for place, _, text in docstrings for name in DOTTED.findall(text)]
    assert len(names) > 10
    assert [(place, name) for place, name in names if not exists(name)] == []
