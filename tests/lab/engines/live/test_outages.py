"""A run's report of a PostgreSQL or a Redis that went away during the run."""

import pytest

from lab.engines.live.appliance import patiently
from lab.engines.live.outages import Outages, words
from lab.errors import ExperimentError


def at(postgres, redis=0, redis_away=0):
    lost = {"postgres": postgres, "redis": redis}
    return {"load": {"status": {"lost_to": lost, "redis_away": redis_away}}}


def outages(*looks):
    found = Outages()
    for time_s, snapshot in looks:
        found.looked(time_s, snapshot)
    return found


def test_nobody_was_away():
    # What was lost before the run began is not the run's.
    assert outages((0, at(7)), (1, at(7)), (2, {"load": None})).found == []


def test_one_outage_is_one_however_many_samples_saw_it():
    found = outages((0, at(7)), (1, at(7)), (2, at(9)), (3, at(9)), (4, at(12)))
    assert found.as_dicts() == [{"back_end": "postgres", "from_s": 1, "until_s": 4, "requests": 5}]


def test_two_outages_are_two():
    found = outages((0, at(0)), (10, at(3)), (11, at(3, 2)), (100, at(3, 2)), (101, at(4, 2)))
    assert [(one.back_end, one.from_s, one.requests) for one in found.found] == [
        ("postgres", 0, 3),
        ("redis", 10, 2),
        ("postgres", 100, 1),
    ]


def test_a_shop_that_does_not_answer_for_a_while_costs_nothing_twice():
    found = outages((0, at(0)), (1, {"load": {"status": None}}), (2, at(3)), (3, at(3)))
    assert [one.requests for one in found.found] == [3]


def test_in_words():
    said = words(outages((12.4, at(0)), (20, at(0, 3))).as_dicts())
    assert said.startswith(
        "Redis was unavailable from 12 s to 20 s: 3 requests were answered with status 503, and "
    )
    assert "read its sessions from PostgreSQL" in said


def test_a_redis_that_was_back_at_once_is_an_outage_without_lost_requests():
    found = outages((0, at(0, 0, 4)), (1, at(0, 0, 4)), (2, at(0, 0, 5)), (3, at(0, 0, 5)))
    said = words(found.as_dicts())
    assert said.startswith("Redis was unavailable from 1 s to 2 s: the shop read its sessions from")
    # Noticed after the requests that it cost: the same outage.
    found = outages((0, at(0)), (1, at(0, 2)), (2, at(0, 2, 1)))
    assert [(one.until_s, one.requests) for one in found.found] == [(2, 2)]


def test_patiently():
    answers = iter([ExperimentError("away"), 7])

    def ask():
        answer = next(answers)
        if isinstance(answer, ExperimentError):
            raise answer
        return answer

    assert patiently(ask) == 7


def test_patience_ends():
    def ask():
        raise ExperimentError("away for good")

    with pytest.raises(ExperimentError, match="for good"):
        patiently(ask, limit_s=0)
