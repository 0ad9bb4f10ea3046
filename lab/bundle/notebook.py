"""The notebook of a bundle: the cells of a template that fit the kind of the result."""

import html
import json
from pathlib import Path
from typing import Any, Literal

TEMPLATE = Path(__file__).with_name("analysis.ipynb")
"""The template of notebooks; the tags of a cell name the kinds of results that use it, and a cell
without tags is for all kinds.
"""
TITLE = "RESULT_TITLE"
"""The text in the first cell that the result's title replaces."""

Kind = Literal["comparison", "reproduction"]


def notebook(kind: Kind, title: str) -> bytes:
    """Return the notebook for a result of this kind; it reads the files in its own folder."""
    made: dict[str, Any] = json.loads(TEMPLATE.read_text(encoding="utf-8"))
    made["cells"] = [
        cell for cell in made["cells"] if kind in (cell["metadata"].get("tags") or [kind])
    ]
    heading = html.escape(" ".join(title.split()))
    first = made["cells"][0]
    first["source"] = [line.replace(TITLE, heading) for line in first["source"]]
    return (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()
