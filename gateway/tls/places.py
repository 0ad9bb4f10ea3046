"""The limited places for TLS handshakes in progress. When all places are taken, a new handshake
replaces a handshake that waits for its customer. Handshakes without a complete ClientHello are
replaced first, then handshakes of new sessions, then those of resumed sessions. In each group, the
oldest is replaced first. So a client that sends only one byte cannot block a place. A handshake
keeps its place while one of its steps is being computed or queued.
"""

from enum import IntEnum
from typing import Protocol

from gateway.tls.gate import ConnectionGate


class Known(IntEnum):
    """The groups of handshakes; a handshake of the lowest group gives way first."""

    NOTHING = 0  # the ClientHello is incomplete
    NEW = 1
    RESUMED = 2


class Placed(Protocol):
    """A handshake that has or wants a place."""

    known: Known

    @property
    def waits_for_customer(self) -> bool:
        """Whether no step of the handshake is being computed or queued."""

    def give_way(self) -> None:
        """End the handshake, which frees its place."""


class HandshakePlaces:
    """A set of at most `most` places. The gate counts the taken places, and the handshakes that
    got no place.
    """

    def __init__(self, gate: ConnectionGate, most: int) -> None:
        self._gate = gate
        self._most = most
        # Each group is in the order in which its handshakes joined it.
        self._taken: dict[Known, dict[Placed, None]] = {known: {} for known in Known}

    def take(self, handshake: Placed) -> bool:
        """Take a place and return True; if none is available, count the handshake as turned away
        and return False.
        """
        if self._gate.under_way >= self._most:
            waiting = (
                one for group in self._taken.values() for one in group if one.waits_for_customer
            )
            other = next(waiting, None)
            if other is None:
                self._gate.count("turned_away")
                return False
            other.give_way()
        self._taken[handshake.known][handshake] = None
        self._gate.under_way += 1
        return True

    def learn(self, handshake: Placed, known: Known) -> None:
        """Move a handshake to another group because more is known about it."""
        del self._taken[handshake.known][handshake]
        self._taken[known][handshake] = None
        handshake.known = known

    def leave(self, handshake: Placed) -> None:
        """Free the place of a finished handshake."""
        del self._taken[handshake.known][handshake]
        self._gate.under_way -= 1

    def taken(self) -> dict[Known, list[Placed]]:
        """Return the handshakes that have a place, in the order in which they would give way."""
        return {known: list(handshakes) for known, handshakes in self._taken.items()}
