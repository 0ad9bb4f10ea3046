"""Check that each page, except the index and the parts, is in exactly one of the four parts."""

from collections import Counter
from collections.abc import Iterator

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata

PARTS = ("tutorials", "how-to", "reference", "explanation")

logger = logging.getLogger(__name__)


def _pages_of(env: BuildEnvironment, page: str) -> Iterator[str]:
    for below in env.toctree_includes.get(page, ()):
        yield below
        yield from _pages_of(env, below)


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    places = Counter(page for part in PARTS for page in _pages_of(env, part))
    for page in env.all_docs:
        if page not in (app.config.root_doc, *PARTS) and places[page] != 1:
            logger.warning(
                "this page is in %d of the four parts; put it into the toctree of one of: %s",
                places[page],
                ", ".join(PARTS),
                location=page,
            )


def setup(app: Sphinx) -> ExtensionMetadata:
    """Check the pages when all are read."""
    app.connect("env-check-consistency", _check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
