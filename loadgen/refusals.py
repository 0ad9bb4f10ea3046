"""What the session model says to a value it cannot mean.

Owns: its one error and the checks its parts share. Must not know: the parts.
"""

import math


class SessionModelError(ValueError):
    """A value the model refuses; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def require_positive(field: str, value: float) -> None:
    """Raises `SessionModelError` for anything but a finite number above 0."""
    if not (value > 0 and math.isfinite(value)):
        raise SessionModelError(field, f"{value}: give a number above 0")
