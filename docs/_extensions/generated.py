"""Pages that are written from the code when the site is built.

The generated text replaces a comment, `<!-- generated: NAME -->`, and the table after it.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import command_line
import glossary_terms
import spec_keys
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

WRITERS = {
    "make targets": command_line.make_targets,
    "command line": command_line.commands,
    "load options": command_line.load_options,
    "spec keys": spec_keys.sections,
    "policy terms": glossary_terms.policies,
    "parameter terms": glossary_terms.parameters,
}
_PLACE = re.compile(r"^<!-- generated: (.+) -->$(?:\n\n(?:\|.*\n)+)?", re.MULTILINE)


def _write(app: Sphinx, page: str, text: list[str]) -> None:
    text[0] = _PLACE.sub(lambda found: WRITERS[found[1]](), text[0])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write each page before it is parsed."""
    app.connect("source-read", _write, priority=400)  # before links are rewritten
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
