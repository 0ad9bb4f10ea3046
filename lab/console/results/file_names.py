"""The names that the console accepts for results, files and folders, and the names that it gives to
downloads."""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""File names can contain the letters and spaces of policies' labels, which are part of folder
names, but no separators and no `..`, which can lead to other folders.
"""


def is_name(part: str) -> bool:
    """Return whether a text is the name of a single file or folder, without a path."""
    return _NAME.fullmatch(part) is not None
