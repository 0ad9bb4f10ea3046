"""The names that the console accepts for results, files and folders."""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""The pattern of a file name. Spaces are allowed, because a folder's name can contain a policy's
label. Separators and `..` are not allowed, because they can lead to other folders."""


def is_name(part: str) -> bool:
    """Return whether a text is the name of a single file or folder, without a path."""
    return _NAME.fullmatch(part) is not None
