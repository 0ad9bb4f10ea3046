"""Links from a page to files outside `docs/`.

In the repository, such a link leads to the file. On the site, the link leads to the page that shows
the file; if no page shows the file, its path replaces the link.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "README.md": "index.md",
}
"""Documents of the repository's top folder, and the pages that show them on the site."""

_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)"
)
"""A link's words, its target and its anchor."""

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
"""Blocks of code, whose text stays as it is."""


def _rewrite(app: Sphinx, page: str, text: list[str]) -> None:
    docs = Path(app.srcdir)
    folder = docs / Path(page).parent
    text[0] = rewritten(text[0], folder, docs, folder)


def rewritten(text: str, folder: Path, docs: Path, shown_in: Path) -> str:
    """Return `text` of a file in `folder` with links that work on a page in `shown_in`."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = Path(os.path.normpath(folder / target))
        if not path.is_relative_to(docs):
            name = path.relative_to(docs.parent).as_posix()
            if name not in PAGES:
                return words if "`" in words else f"{words} (`{name}`)"
            path = docs / PAGES[name]
            anchor = "" if name == "README.md" else anchor
        elif path.is_dir():
            path /= "README.md"
        return f"[{words}]({os.path.relpath(path, shown_in)}{anchor})"

    pieces = _FENCED.split(text)
    pieces[::2] = [_LINK.sub(link, piece) for piece in pieces[::2]]
    return "".join(pieces)


def _rewrite_included(app: Sphinx, relative: Path, page: str, text: list[str]) -> None:
    docs = Path(app.srcdir)
    folder = (docs / relative).resolve().parent
    # `page` is the name without its folder.
    text[0] = rewritten(text[0], folder, docs, docs / Path(app.env.docname).parent)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Rewrite each page before it is parsed."""
    app.connect("source-read", _rewrite)
    app.connect("include-read", _rewrite_included)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
