"""The longest durations, in paper seconds, of faults that a user causes on purpose."""

from typing import Final

FEWEST_S: Final = 10.0
MOST_S: Final = 600.0
