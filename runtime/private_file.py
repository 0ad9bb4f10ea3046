"""Files that are for their owner alone.

Owns: how they are written. Must not know: what is in them.
"""

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Written aside with mode 600 and renamed: never half-written, never seen by another."""
    aside = path.with_name(path.name + ".new")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    aside.rename(path)
