"""How long a fault that a user causes on purpose may last, in paper seconds."""

from typing import Final

FEWEST_S: Final = 10.0
MOST_S: Final = 600.0
