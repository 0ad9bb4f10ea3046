"""Names of results, and of files and folders within them, as the console lets them in and out.

Owns: which names are let through. Must not know: where the files lie, what is in them.
"""

import re

_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""A policy's label (`spec_sections.PolicyChoice`) becomes part of its runs' folders, so letters and
spaces are what they are there. Nothing that leads elsewhere: no separator, no `..`."""


def is_name(part: str) -> bool:
    """Whether it is the name of one file or folder, and leads nowhere else."""
    return _NAME.fullmatch(part) is not None
