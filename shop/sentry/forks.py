"""The reset of the sentry's state in a forked child process, which has no threads of its parent."""

import os
from collections.abc import Callable


def in_child(forget: Callable[[], object]) -> None:
    """Call `forget` in every child process forked from now on, if the platform can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
