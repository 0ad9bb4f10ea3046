"""The code blocks of CONTRIBUTING.md.

The comment before a block names its file: `example` has the text of a new file, `addition` has
lines for a file that exists.
"""

import re

from runtime.settings import REPOSITORY

GUIDE = REPOSITORY / "CONTRIBUTING.md"


def examples(folder: str) -> dict[str, str]:
    """Return the new files in a folder or its subfolders: path to text."""
    return {path: text for path, text in _blocks("example") if path.startswith(folder)}


def additions(path: str) -> list[str]:
    """Return the blocks that the guide adds to a file, in the order of the guide."""
    found = [text for other, text in _blocks("addition") if other == path]
    assert found, f"{GUIDE.name} adds nothing to {path}"
    return found


def _blocks(kind: str) -> list[tuple[str, str]]:
    mark = rf"<!-- {kind}: (\S+) -->\n```\w+\n(.*?)```"
    return re.findall(mark, GUIDE.read_text(encoding="utf-8"), re.DOTALL)
