"""The order of calls that take a while.

If two calls replace the same thing, the call that came later wins, even if it is done first.
"""


class OvertakenError(Exception):
    """The error of a call when a later call is in force already."""

    def __init__(self) -> None:
        super().__init__("a later call is in force")


class Turns:
    """The order of calls that replace or add to the same thing.

    Call `ask` when a call comes. When its work is done, use `take` for a call that replaces
    everything, or `check` and `add` for a call that adds something.
    """

    def __init__(self) -> None:
        self._asked = self._changed = self._replaced = 0

    def ask(self) -> int:
        """Return the number of a call that has just come."""
        self._asked += 1
        return self._asked

    def take(self, turn: int) -> None:
        """Record that call `turn` replaces everything now.

        Raises OvertakenError if a later call has changed anything.
        """
        if turn < self._changed:
            raise OvertakenError
        self._changed = self._replaced = turn

    def check(self, turn: int) -> None:
        """Raise OvertakenError if a later call has replaced everything."""
        if turn < self._replaced:
            raise OvertakenError

    def add(self, turn: int) -> None:
        """Record that call `turn` has changed something."""
        self._changed = max(self._changed, turn)
