"""The names that the console accepts for results, files and folders, and the names that it gives to
downloads."""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""A policy's label (`spec_sections.PolicyChoice`) becomes part of the folder names of its runs.

File names can therefore contain the same letters and spaces as labels. Separators and `..` are not
allowed, because they can lead to other folders.
"""


def is_name(part: str) -> bool:
    """Return whether a text is the name of a single file or folder, without a path."""
    return _NAME.fullmatch(part) is not None
