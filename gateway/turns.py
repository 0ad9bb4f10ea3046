"""The order of slow calls that change the same object: the call that arrived last wins, even if an
earlier call finishes after it.
"""


class OvertakenError(Exception):
    """The error for a call that must not take effect, because a later call already has."""

    def __init__(self) -> None:
        super().__init__("a later call has already taken effect")


class ChangeOrder:
    """The order of calls that replace or extend the same object. Use `ask` when a call arrives.
    After the call's work, use `take` if the call replaces the object, or `check` and `add` if the
    call extends the object.
    """

    def __init__(self) -> None:
        self._asked = self._changed = self._replaced = 0

    def ask(self) -> int:
        """Return the number of a call that has just arrived."""
        self._asked += 1
        return self._asked

    def take(self, turn: int) -> None:
        """Record that call `turn` replaces the object; raise OvertakenError if a later call has
        changed the object.
        """
        if turn < self._changed:
            raise OvertakenError
        self._changed = self._replaced = turn

    def check(self, turn: int) -> None:
        """Raise OvertakenError if a later call has replaced the object."""
        if turn < self._replaced:
            raise OvertakenError

    def add(self, turn: int) -> None:
        """Record that call `turn` has extended the object."""
        self._changed = max(self._changed, turn)
