"""Bundles of a result with some of its files changed."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from lab.console.results import bundles


def bundle_of(folder: Path, name: str = "", changes: Mapping[str, bytes | str] | None = None):
    """The ZIP of a result under another name; `changes` replaces or adds files by pattern."""
    packed = io.BytesIO()
    left = dict(changes or {})
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in bundles.files_of(folder):
            relative = path.relative_to(folder)
            pattern = next((one for one in changes or {} if relative.match(one)), None)
            left.pop(pattern, None)
            content = path.read_bytes() if pattern is None else changes[pattern]
            bundle.writestr(f"{name or folder.name}/{relative}", content)
        for pattern, content in left.items():
            bundle.writestr(f"{name or folder.name}/{pattern}", content)
    return packed.getvalue()
