"""The names of results, files and folders that the console accepts, and the names that it uses for
downloads."""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""A policy's label (`spec_sections.PolicyChoice`) becomes part of the folder names of its runs.

So file names can contain the same letters and spaces as labels. Separators and `..` are not
allowed, because they lead to other folders.
"""


def is_name(part: str) -> bool:
    """Return whether a text is the name of a single file or folder, without a path."""
    return _NAME.fullmatch(part) is not None
