"""The handshakes that give way when all places are taken."""

import asyncio

import pytest

from gateway.clock import PaperClock
from gateway.tls.gate import ConnectionGate
from gateway.tls.handshake import HandshakePlaces, Known


class Handshake:
    """A handshake in the state that a test sets, which leaves its place when it must."""

    def __init__(self, places, *, waits=True):
        self.known = Known.NOTHING
        self.waits_for_customer = waits
        self.has_given_way = False
        self._places = places

    def give_way(self):
        self.has_given_way = True
        self._places.leave(self)


@pytest.fixture
def gate():
    with asyncio.Runner() as runner:
        yield ConnectionGate(runner.get_loop(), PaperClock(1))


def test_least_known_first_and_of_them_who_is_so_for_longest(gate):
    places = HandshakePlaces(gate, 6)
    six = [Handshake(places) for _ in range(6)]
    resumed, newer, new, silent, latest, computed = six
    computed.waits_for_customer = False
    assert all(places.take(each) for each in six)
    places.learn(resumed, Known.RESUMED)
    places.learn(new, Known.NEW)
    places.learn(newer, Known.NEW)
    for loses in (silent, latest, new, newer, resumed):
        comer = Handshake(places, waits=False)
        assert places.take(comer)
        assert loses.has_given_way
        assert gate.under_way == 6
    assert not computed.has_given_way
    assert not places.take(Handshake(places))
    assert gate.counts()["turned_away"] == 1


def test_a_place_that_was_left_is_the_next_ones(gate):
    places = HandshakePlaces(gate, 1)
    first, second = Handshake(places, waits=False), Handshake(places, waits=False)
    assert places.take(first)
    assert not places.take(second)
    places.leave(first)
    assert places.take(second)
    assert (gate.under_way, first.has_given_way) == (1, False)
