"""Pack the modules that the playground needs into one archive for the browser's Python."""

import ast
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_BEGINNING = "lab.playground.experiment"
"""The module that the playground runs."""
_LOADED_BY_NAME = "gateway.policies"
"""The package with the policies' modules, which the registry imports when it creates a policy."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the archive, so that equal modules give equal archives."""


@cache
def archive(beginning: str = _BEGINNING) -> bytes:
    """Return the ZIP archive of the modules that `beginning` needs."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(modules(beginning)):
            entry = zipfile.ZipInfo(str(path.relative_to(_ROOT)), _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes())
    return file.getvalue()


def modules(beginning: str = _BEGINNING) -> set[Path]:
    """Return the files of the policies' modules, of `beginning`, of all modules that these import
    directly or indirectly, and of the packages above them.
    """
    found: set[Path] = set()
    to_read = [beginning]
    to_read += [
        f"{_LOADED_BY_NAME}.{path.stem}"
        for path in (_ROOT / _LOADED_BY_NAME.replace(".", "/")).glob("*.py")
    ]
    while to_read:
        name = to_read.pop()
        path = _file_of(name)
        if path is None or path in found:
            continue
        found.add(path)
        to_read += _imports(path)
        if "." in name:
            to_read.append(name.rpartition(".")[0])
    return found


def _file_of(name: str) -> Path | None:
    base = _ROOT / name.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imports(path: Path) -> Iterator[str]:
    """Yield the names that a module imports; `from package import name` can name a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
