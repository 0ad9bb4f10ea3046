"""The limited places for TLS handshakes in progress, and the rule that decides which handshake
gives way. When all places are taken, a new handshake gets the place of a handshake that waits for
its customer. Handshakes without a complete ClientHello give way first, then handshakes of new
sessions, then handshakes of resumed sessions. Within each group, the oldest handshake gives way
first. So a client that sends only one byte cannot block a place. The handshake of a resumed session
gives way only when the handshakes in all other places are being computed. A handshake keeps its
place while one of its steps is being computed or queued.
"""

from enum import IntEnum
from typing import Protocol

from gateway.tls.gate import ConnectionGate


class Known(IntEnum):
    """The groups of handshakes, by what is known about their customers; the lowest group gives way
    first.
    """

    NOTHING = 0  # no whole ClientHello has come
    NEW = 1
    RESUMED = 2


class Placed(Protocol):
    """A handshake that holds or wants a place."""

    known: Known

    @property
    def waits_for_customer(self) -> bool:
        """Whether none of its steps is being computed or queued."""

    def give_way(self) -> None:
        """End the handshake at once, which frees its place."""


class Places:
    """A set of at most `most` places. The gate counts the places that are taken and the handshakes
    that are turned away.
    """

    def __init__(self, gate: ConnectionGate, most: int) -> None:
        self._gate = gate
        self._most = most
        # Each group is in the order in which its handshakes joined it.
        self._taken: dict[Known, dict[Placed, None]] = {known: {} for known in Known}

    def take(self, handshake: Placed) -> bool:
        """Take a place and return True; if no place is available, count the handshake as turned
        away and return False.
        """
        if self._gate.under_way >= self._most:
            other = self._who_gives_way()
            if other is None:
                self._gate.count("turned_away")
                return False
            other.give_way()
        self._taken[handshake.known][handshake] = None
        self._gate.under_way += 1
        return True

    def learn(self, handshake: Placed, known: Known) -> None:
        """Move a handshake to another group because more is known about its customer."""
        del self._taken[handshake.known][handshake]
        self._taken[known][handshake] = None
        handshake.known = known

    def leave(self, handshake: Placed) -> None:
        """Free the place of a handshake that is over."""
        del self._taken[handshake.known][handshake]
        self._gate.under_way -= 1

    def taken(self) -> dict[Known, list[Placed]]:
        """Return the handshakes that have a place, grouped, in the order in which they give way."""
        return {known: list(handshakes) for known, handshakes in self._taken.items()}

    def _who_gives_way(self) -> Placed | None:
        for handshakes in self._taken.values():
            for handshake in handshakes:
                if handshake.waits_for_customer:
                    return handshake
        return None
