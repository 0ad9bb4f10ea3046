"""The digest of the code that makes seeded data; it shows whether the data is up to date."""

import ast
import hashlib
import inspect
from types import ModuleType


def digest_of(*modules: ModuleType, values: object = None) -> str:
    """Return a digest of the modules' code, and of the values that the code works with.

    Docstrings, comments on lines without code and empty lines do not count. Otherwise, a rewritten
    sentence would replace the shop's data.
    """
    digest = hashlib.sha256(repr(values).encode())
    for module in modules:
        digest.update(_code(inspect.getsource(module)).encode())
    return digest.hexdigest()


def _code(source: str) -> str:
    """Return the source without docstrings, comment lines and empty lines.

    The result does not depend on the version of Python.
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
                lines[first:last] = [""] * (last - first)
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
