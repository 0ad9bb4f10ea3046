"""The names of results, files and folders that the console accepts and gives out."""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""A policy's label (`spec_sections.PolicyChoice`) becomes part of its runs' folders.

So the same letters and spaces are allowed as in labels. Separators and `..` are not allowed,
because they lead to other folders.
"""


def is_name(part: str) -> bool:
    """Return whether a text is the name of one file or folder, without a path to another place."""
    return _NAME.fullmatch(part) is not None
