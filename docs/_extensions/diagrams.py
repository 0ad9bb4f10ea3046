"""Mermaid diagrams, drawn in the browser by the copy of Mermaid that comes with the site."""

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


class Mermaid(Directive):
    """A fenced block with the language `mermaid`."""

    has_content = True

    def run(self) -> list[Node]:
        """Return the source of the diagram in an element that Mermaid finds."""
        diagram = nodes.container(classes=["diagram"])
        source = nodes.literal_block(text="\n".join(self.content), classes=["mermaid"])
        diagram += nodes.raw("", _html(source), format="html")
        return [diagram]


def _html(source: nodes.literal_block) -> str:
    text = nodes.unescape(source.astext())
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return f'<pre class="mermaid">{text}</pre>'


def _add_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, object], tree: nodes.document | None
) -> None:
    if tree is not None and any(
        "diagram" in one["classes"] for one in tree.findall(nodes.container)
    ):
        app.add_js_file("vendor/mermaid.min.js", defer="defer", priority=900)
        app.add_js_file("diagrams.js", defer="defer", priority=901)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.add_directive("mermaid", Mermaid)
    app.connect("html-page-context", _add_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
