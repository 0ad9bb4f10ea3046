"""The check that a policy's source is pure: a pure policy makes its decisions from its events, and
does nothing else. The check teaches authors what a policy may do; the confinement of the child
process protects the machine. The time of the check depends only on the size of the source.
"""

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

MODULES: Final = (
    "__future__",
    "abc",
    "bisect",
    "collections",
    "collections.abc",
    "copy",
    "dataclasses",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "math",
    "numbers",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "types",
    "typing",
)
"""The allowed modules of the standard library. `gateway.policies` is allowed, too."""

_INSTEAD: Final = {
    "time": "every event has a time: use time_s",
    "datetime": "every event has a time: use time_s",
    "random": "use random.Random(seed), so that a run can be repeated",
    "threading": "a policy must answer immediately; next_timer_s requests a later call",
    "asyncio": "a policy must answer immediately; next_timer_s requests a later call",
    "logging": "let snapshot() return what you want to show",
    "os": "a policy must not use files or processes",
    "sys": "a policy must not inspect the interpreter",
    "numpy": "only the standard library is available",
}
_NAMES: Final = {
    "open": "a policy must not use files",
    "print": "its output is not shown; let snapshot() return what you want to show",
    "input": "a policy must not read input",
    "eval": "write the code directly instead",
    "exec": "write the code directly instead",
    "compile": "write the code directly instead",
    "__import__": "import at the top of the file",
    "__builtins__": "a policy must not use the interpreter's internals",
    "breakpoint": "write a test of the policy instead",
    "globals": "keep the policy's state in attributes of its object",
}
_INSIDE: Final = "names that begin with _ are private to their module"
_ATTRIBUTES: Final = ("__subclasses__", "__globals__", "__builtins__", "__code__")


class Impurity(NamedTuple):
    """A forbidden name, the number of its line, and the reason."""

    line: int
    what: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.why}"


def impurities(text: str) -> list[Impurity]:
    """Return all impurities of a policy's source in the order of lines; raise SyntaxError if it is
    not Python.
    """
    return sorted(_found(ast.parse(text)))


def _found(tree: ast.Module) -> Iterator[Impurity]:
    modules = set(_modules(tree))
    inner: set[ast.AST] = set()
    """The attributes of a dotted name that has already been checked."""
    for node in ast.walk(tree):  # the outermost attribute of a dotted name comes first
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _imported(line, alias.name)
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_from(line, node)
        elif isinstance(node, ast.Name) and node.id in _NAMES:
            if isinstance(node.ctx, ast.Load):
                yield Impurity(line, node.id, _NAMES[node.id])
        elif isinstance(node, ast.Attribute):
            if node.attr in _ATTRIBUTES:
                why = "a policy must not use the interpreter's internals"
                yield Impurity(line, node.attr, why)
            elif (
                _is_name(node.value, "random")
                and node.attr != "Random"
                and not node.attr.startswith("_")
            ):
                yield Impurity(line, f"random.{node.attr}", _INSTEAD["random"])
            if node not in inner:
                yield from _inside(line, node, modules, inner)
        elif isinstance(node, ast.Call) and not node.args and not node.keywords:
            if _is_random(node.func):
                yield Impurity(line, "Random()", "pass a seed: Random(seed)")
        elif isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield Impurity(line, "async", _INSTEAD["asyncio"])


def _inside(
    line: int, outermost: ast.Attribute, modules: set[str], inner: set[ast.AST]
) -> Iterator[Impurity]:
    """Yield an impurity for the first private name in `module.….name`."""
    attributes = []
    node: ast.expr = outermost
    while isinstance(node, ast.Attribute):
        inner.add(node)
        attributes.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in modules:
        return
    names = [node.id, *reversed(attributes)]
    for place, name in enumerate(names[1:], start=1):
        if name.startswith("_") and name not in _ATTRIBUTES:
            yield Impurity(line, ".".join(names[: place + 1]), _INSIDE)
            return


def _is_random(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr == "Random" and _is_name(function.value, "random")
    return _is_name(function, "Random")


def _modules(tree: ast.Module) -> Iterator[str]:
    """Iterate over the names that the file's imports bind to modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module in ("gateway", "gateway.policies"):
            yield from (alias.asname or alias.name for alias in node.names)


def _imported(line: int, name: str) -> Iterator[Impurity]:
    if name in MODULES:
        return
    if name == "gateway" or name.startswith("gateway.policies"):
        return
    top = name.split(".")[0]
    why = _INSTEAD.get(top, f"allowed: gateway.policies and {', '.join(MODULES[1:])}")
    yield Impurity(line, f"import {name}", why)


def _imported_from(line: int, node: ast.ImportFrom) -> Iterator[Impurity]:
    module = node.module or ""
    if node.level:
        yield Impurity(line, "from .", "a policy is a single file and cannot import other files")
    elif module in ("gateway", "gateway.policies"):
        for alias in node.names:
            yield from _imported(line, f"{module}.{alias.name}")
    else:
        yield from _imported(line, module)
        for alias in node.names:
            if alias.name.startswith("_"):
                yield Impurity(line, f"{module}.{alias.name}", _INSIDE)
        if module == "random":
            for alias in node.names:
                if alias.name != "Random" and not alias.name.startswith("_"):
                    yield Impurity(line, f"random.{alias.name}", _INSTEAD["random"])


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
