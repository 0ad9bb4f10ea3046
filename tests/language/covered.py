"""The texts that the language test covers: documents without findings, and roots with ceilings."""

import tomllib
from pathlib import Path

from tests.language.passages import (
    REPOSITORY,
    Passage,
    of_markdown,
    of_python,
    of_template,
)
from tests.language.rules import LONGEST_MEAN, findings, mean_length

FICTION = REPOSITORY / "shop" / "catalogue" / "shelves.py"
"""The words of the shop's books, which are no prose of the product."""
REFERENCE = REPOSITORY / "lab" / "reference"
"""The results that come with Doorbuster, which the console shows."""
READERS = {".md": of_markdown, ".py": of_python, ".html": of_template}
CEILINGS_FILE = Path(__file__).parent / "ceilings.toml"
CEILINGS: dict[str, int] = tomllib.loads(CEILINGS_FILE.read_text(encoding="utf-8"))
"""The findings that a root, a folder or a document, may still have. A number may only fall."""


def documents() -> list[Path]:
    """Return the documents in which no finding is allowed."""
    found = [
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *sorted((REPOSITORY / "docs").rglob("*.md")),
    ]
    return [path for path in found if str(path.relative_to(REPOSITORY)) not in CEILINGS]


def ceiling(root: str) -> int:
    """Return the findings that a root may have."""
    return CEILINGS[root]


def files_below(root: str) -> list[Path]:
    """Return a file, or all files with texts below a folder."""
    path = REPOSITORY / root
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return [
        file
        for file in files
        if file.suffix in READERS
        and file.is_file()
        and file != FICTION
        and not file.is_relative_to(REFERENCE)
    ]


def passages_below(root: str) -> list[Passage]:
    """Return the passages of a file, or of all files below a folder."""
    return [passage for file in files_below(root) for passage in READERS[file.suffix](file)]


def findings_below(root: str) -> list[str]:
    """List the findings in a file, or in all files below a folder."""
    found: list[str] = []
    for file in files_below(root):
        passages = list(READERS[file.suffix](file))
        found += [str(finding) for passage in passages for finding in findings(passage)]
        if (mean := mean_length(passages)) > LONGEST_MEAN:
            found.append(f"{passages[0].path}: {mean:.1f} words in a sentence on average")
    return found
