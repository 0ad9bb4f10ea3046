"""Link the first occurrence of a glossary term in each section of a page to the term's entry."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

GLOSSARY = "glossary"
UNLINKED = (
    nodes.reference,
    nodes.title,
    nodes.literal,
    nodes.literal_block,
    nodes.raw,
    nodes.TextElement,
)
"""Elements in which no term becomes a link."""
PLAIN = (nodes.paragraph, nodes.emphasis, nodes.strong, nodes.entry)
"""Elements in which terms become links, although they are also text elements."""


def _link(app: Sphinx, page: nodes.document, name: str) -> None:
    if name in (GLOSSARY, "changelog") or GLOSSARY not in app.env.all_docs:
        return
    from lab.report import glossary

    patterns = glossary.in_text()
    whole = re.compile("|".join(f"({pattern})" for pattern, _ in patterns))
    address = app.builder.get_relative_uri(name, GLOSSARY)
    anchors = {entry.anchor: place for place, entry in enumerate(glossary.entries())}
    linked = {
        (id(_section(link)), anchors[anchor])
        for link in page.findall(nodes.reference)
        if (anchor := link.get("refuri", "").removeprefix(f"{address}#")) in anchors
    }
    for text in list(page.findall(nodes.Text)):
        if not whole.search(text) or not _is_plain(text):
            continue
        section = id(_section(text))
        pieces: list[nodes.Node] = []
        begin = 0
        for match in whole.finditer(text):
            place = patterns[(match.lastindex or 1) - 1][1]
            if (section, place) in linked:
                continue
            linked.add((section, place))
            entry = glossary.entries()[place]
            pieces += [
                nodes.Text(text[begin : match.start()]),
                nodes.reference(
                    match[0],
                    match[0],
                    internal=True,
                    classes=["term"],
                    refuri=f"{address}#{entry.anchor}",
                    reftitle=entry.text,
                ),
            ]
            begin = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[begin:])])


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _is_plain(text: nodes.Text) -> bool:
    """Return whether terms in this text may become links."""
    return not any(isinstance(one, UNLINKED) and not isinstance(one, PLAIN) for one in _above(text))


def _section(text: nodes.Node) -> nodes.Node | None:
    """Return the second-level section that contains this node; None if there is none."""
    sections = [one for one in _above(text) if isinstance(one, nodes.section)]
    return sections[-2] if len(sections) > 1 else None


def setup(app: Sphinx) -> ExtensionMetadata:
    """Link each page before it is written."""
    app.connect("doctree-resolved", _link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
