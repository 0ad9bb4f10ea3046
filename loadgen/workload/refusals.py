"""The session model's error for invalid values, and the checks that raise it."""

import math


class SessionModelError(ValueError):
    """The error for an invalid value of the session model; `field` names the value, and `message`
    explains the fault.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def require_positive(field: str, value: float) -> None:
    """Raise `SessionModelError` unless the value is a finite number above 0."""
    if not (value > 0 and math.isfinite(value)):
        raise SessionModelError(field, f"{value}: give a number above 0")


def require_duration(field: str, value_s: float) -> None:
    """Raise `SessionModelError` unless the value is a finite number of at least 0."""
    if not (value_s >= 0 and math.isfinite(value_s)):
        raise SessionModelError(field, f"{value_s} is not a duration; give 0 or more seconds")


def require_probability(field: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise SessionModelError(field, f"{value} is not a probability; give 0 to 1")


def require_range(field: str, value: float, least: int, most: int, meaning: str = "") -> None:
    """Raise `SessionModelError` unless the value is between `least` and `most`. `meaning` explains
    `most` in the error.
    """
    if not least <= value <= most:
        message = f"{value} is out of range; give {least} to {most}"
        raise SessionModelError(field, f"{message}, {meaning}" if meaning else message)
