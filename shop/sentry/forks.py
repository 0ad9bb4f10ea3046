"""Starting anew in a forked child, which has its parent's memory but none of its threads.

Owns: the hook. Must not know: what is forgotten.
"""

import os
from collections.abc import Callable


def in_child(forget: Callable[[], object]) -> None:
    """Call `forget` in every child that is forked from now on, where there is forking."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
