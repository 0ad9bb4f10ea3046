"""Calls that take a while: of two that replace the same, the one that was asked later holds.

Owns: their order. Must not know: what is replaced.
"""


class OvertakenError(Exception):
    """Another one, asked for later, is in force already."""

    def __init__(self) -> None:
        super().__init__("another one was asked for later and is in force")


class Turns:
    """`ask` when a call comes; when it is done, `take` for one that replaces everything, `check`
    and `add` for one that adds to what there is."""

    def __init__(self) -> None:
        self._asked = self._changed = self._replaced = 0

    def ask(self) -> int:
        """A call's number."""
        self._asked += 1
        return self._asked

    def take(self, turn: int) -> None:
        """It replaces everything now; raises OvertakenError if one asked for later has changed
        anything."""
        if turn < self._changed:
            raise OvertakenError
        self._changed = self._replaced = turn

    def check(self, turn: int) -> None:
        """Raises OvertakenError if one asked for later has replaced everything."""
        if turn < self._replaced:
            raise OvertakenError

    def add(self, turn: int) -> None:
        """It has changed something."""
        self._changed = max(self._changed, turn)
