"""The names of results, files and folders that the console accepts and gives out."""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""A policy's label (`spec_sections.PolicyChoice`) becomes part of its runs' folders.

So letters and spaces are allowed as in labels. Nothing that leads elsewhere is: no separator, no
`..`.
"""


def is_name(part: str) -> bool:
    """Return whether a text is the name of one file or folder and leads nowhere else."""
    return _NAME.fullmatch(part) is not None
