"""How many TLS handshakes are under way, and who gives way when all places are taken.

Owns: places, the order in which they are given up. Must not know: TLS, sockets, threads.

A newcomer gets the place of a handshake that waits for its customer: of those of whom nothing is
known before those who are new, and these before those who resume; among them, of who is so for
longest. So who sends a byte and no more holds no door, and who comes back gives way only when all
other places are being computed. A handshake that is computed, or waits to be, keeps its own.
"""

from enum import IntEnum
from typing import Protocol

from gateway.tls.gate import ConnectionGate


class Known(IntEnum):
    """What is known of a customer in mid-handshake: who is known less gives way sooner."""

    NOTHING = 0  # no whole ClientHello has come
    NEW = 1
    RESUMED = 2


class Placed(Protocol):
    """A handshake that may have a place."""

    known: Known

    @property
    def waits_for_customer(self) -> bool:
        """True while nothing of it is computed, or waits to be."""

    def give_way(self) -> None:
        """Ends it at once; it leaves its place."""


class Places:
    """So many places; how many are taken the gate counts, and who was turned away."""

    def __init__(self, gate: ConnectionGate, most: int) -> None:
        self._gate = gate
        self._most = most
        # In the order in which that much became known of them.
        self._taken: dict[Known, dict[Placed, None]] = {known: {} for known in Known}

    def take(self, handshake: Placed) -> bool:
        """One more is under way; False if there is no place for it, and it is counted so."""
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
        """More is known of its customer now."""
        del self._taken[handshake.known][handshake]
        self._taken[known][handshake] = None
        handshake.known = known

    def leave(self, handshake: Placed) -> None:
        """One that had a place is over."""
        del self._taken[handshake.known][handshake]
        self._gate.under_way -= 1

    def taken(self) -> dict[Known, list[Placed]]:
        """Who has a place, the first to give way first."""
        return {known: list(handshakes) for known, handshakes in self._taken.items()}

    def _who_gives_way(self) -> Placed | None:
        for handshakes in self._taken.values():
            for handshake in handshakes:
                if handshake.waits_for_customer:
                    return handshake
        return None
