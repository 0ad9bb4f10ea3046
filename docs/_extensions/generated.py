"""Pages that are written from the code when the site is built.

The generated text replaces a comment, `<!-- generated: NAME -->`, and the table after it.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import command_line
import spec_keys
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


def policy_terms() -> str:
    """Return an entry of the glossary for each policy and baseline proxy."""
    from lab.report import glossary

    return glossary.sections("Policies by name", glossary.of_policies())


def parameter_terms() -> str:
    """Return an entry of the glossary for each parameter of a policy."""
    from lab.report import glossary

    return glossary.sections("Parameters of policies", glossary.of_parameters())


WRITERS = {
    "make targets": command_line.make_targets,
    "command line": command_line.commands,
    "load options": command_line.load_options,
    "spec keys": spec_keys.sections,
    "policy terms": policy_terms,
    "parameter terms": parameter_terms,
}
_PLACE = re.compile(r"^<!-- generated: (.+) -->$(?:\n\n(?:\|.*\n)+)?", re.MULTILINE)


def _write(app: Sphinx, page: str, text: list[str]) -> None:
    text[0] = _PLACE.sub(lambda found: WRITERS[found[1]](), text[0])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write each page before it is parsed."""
    app.connect("source-read", _write, priority=400)  # before links are rewritten
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
