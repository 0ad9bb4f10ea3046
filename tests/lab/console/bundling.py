"""Bundles of a result with some of its files changed, and what a console's child process does."""

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


def unpack(packed: bytes, folder: Path) -> None:
    """Unpack a bundle as the console does in a child process, which takes a second to start."""
    file, place = folder / "bundle.zip", folder / "result"
    file.write_bytes(packed)
    place.mkdir()
    limits = {"files": 1000, "bytes": 2**26, "rows": 10**6, "runs": 100, "spec_bytes": 2**16}
    bundles.unpack({"file": str(file), "place": str(place), "limits": limits})
