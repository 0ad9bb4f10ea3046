"""Calls that take a while: of two that replace the same, the one that was asked later holds.

Owns: their order. Must not know: what is replaced.
"""


class OvertakenError(Exception):
    """Another one, asked for later, is in force already."""

    def __init__(self) -> None:
        super().__init__("another one was asked for later and is in force")


class Turns:
    """`ask` when a call comes, `take` when it is done."""

    def __init__(self) -> None:
        self._asked = self._taken = 0

    def ask(self) -> int:
        """A call's number."""
        self._asked += 1
        return self._asked

    def check(self, turn: int) -> None:
        """Raises OvertakenError if a later one has been taken."""
        if turn < self._taken:
            raise OvertakenError

    def take(self, turn: int) -> None:
        """It is in force from now on; raises OvertakenError likewise."""
        self.check(turn)
        self._taken = turn
