"""The states of a request: the table, what it forbids."""

import pytest

from gateway.http.exchange import TRANSITIONS, Event, IllegalMoveError, State
from tests.gateway.fake_world import World


def test_every_state_is_in_the_table_and_leads_to_the_end():
    """From each state the end can be reached, and nothing leads out of it."""
    assert set(TRANSITIONS) == set(State)
    reaches_end = {State.OVER}
    while more := {
        state
        for state, events in TRANSITIONS.items()
        if state not in reaches_end and reaches_end & set(events.values())
    }:
        reaches_end |= more
    assert reaches_end == set(State)
    assert set(TRANSITIONS[State.OVER].values()) == {State.OVER}


def test_every_event_may_happen_somewhere():
    """No event is declared that no state knows."""
    assert {event for events in TRANSITIONS.values() for event in events} == set(Event)


def test_an_event_that_may_not_happen_is_a_fault_that_names_the_request():
    """For example, a request in service cannot be dropped."""
    world = World()
    customer, _ = world.connect()
    customer.data_received(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
    (exchange,) = world.exchanges
    with pytest.raises(IllegalMoveError, match=r"<Exchange 1 GET /: in service>: dropped"):
        exchange.dropped("its queue is full")


def test_a_fault_of_one_request_is_not_told_to_the_others(caplog):
    """The queue ends the request, frees its worker, and goes on."""
    world = World(workers=1)
    customers = [world.connect() for _ in range(3)]
    for customer, _ in customers:
        customer.data_received(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
    world.exchanges[1].withdrawn()  # behind the policy's back
    at_shop, transport = world.pool.connections[0]
    world.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    world.reply(at_shop, transport)  # the second request is broken off, the third one begins
    world.loop.run()
    world.reply(at_shop, transport)
    assert "a request was ended after a fault in the gateway" in caplog.text
    assert not customers[1][1].is_open
    assert customers[2][1].written.endswith(b"ok")
    assert world.counts() == {"arrived": 3, "dispatched": 3, "answered": 2, "failed": 1}
