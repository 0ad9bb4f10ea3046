"""The shortest and the longest duration of a fault that a user causes, in paper seconds."""

from typing import Final

FEWEST_S: Final = 10.0
MOST_S: Final = 600.0
