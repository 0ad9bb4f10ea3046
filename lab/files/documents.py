"""Write text and JSON files of a result completely or not at all, and check JSON files when they
are read.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from common import private_file
from lab.files import forms


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(draft, 0o644)
        private_file.put(Path(draft), path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: object) -> None:
    """Write JSON completely or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, checked by `forms`; raises ExperimentError if the file is
    missing or damaged.
    """
    return forms.read(path)
