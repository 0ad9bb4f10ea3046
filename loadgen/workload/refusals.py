"""The session model's error for invalid values, and the check that a value is above 0."""

import math


class SessionModelError(ValueError):
    """The error for an invalid value of the session model; `field` names the value."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def require_positive(field: str, value: float) -> None:
    """Raise `SessionModelError` unless the value is a finite number above 0."""
    if not (value > 0 and math.isfinite(value)):
        raise SessionModelError(field, f"{value}: give a number above 0")
