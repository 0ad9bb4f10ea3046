"""The models of HAProxy and nginx decide as the programs do (see test_process.py)."""

import pytest

from gateway.policies import PolicyError
from gateway.policies.interface import Dispatch, Drop, Outcome, Page, Request
from lab.baselines import models


def request(id, page=Page.HOME, at_s=0.0):
    return Request(id, page, at_s)


def ids(verdicts):
    return [verdict.id for verdict in verdicts]


def test_haproxy_sends_as_many_as_maxconn_and_then_the_later_page_first():
    proxy = models.create("haproxy", {"maxconn": 2}, 5.6)
    for id, page in enumerate((Page.HOME, Page.HOME, Page.HOME, Page.PAYMENT), start=1):
        assert proxy.arrival(0.0, request(id, page)) == ()
    assert proxy.workers_free(0.0, 30) == [Dispatch(1), Dispatch(2)]
    proxy.completion(1.0, 1, Outcome.ANSWERED)
    assert ids(proxy.workers_free(1.0, 29)) == [4]
    proxy.completion(2.0, 2, Outcome.ANSWERED)
    assert ids(proxy.workers_free(2.0, 29)) == [3]
    assert proxy.waiting() == []


def test_haproxy_sends_more_than_the_shop_has_workers_and_they_wait_there_in_turn():
    proxy = models.create("haproxy", {"maxconn": 3}, 5.6)
    for id, page in enumerate((Page.HOME, Page.HOME, Page.PAYMENT), start=1):
        proxy.arrival(0.0, request(id, page))
    assert ids(proxy.workers_free(0.0, 1)) == [1]
    assert ids(proxy.workers_free(0.0, 1)) == [2]  # no class holds in the shop's own queue
    assert proxy.next_timer_s() is None  # nor does a timeout


def test_haproxy_turns_away_a_request_that_waited_too_long_or_finds_the_queue_full():
    proxy = models.create("haproxy", {"maxconn": 1, "queue_s": 5.0, "maxqueue": 2}, 5.6)
    proxy.arrival(0.0, request(1))
    proxy.arrival(1.0, request(2, at_s=1.0))
    proxy.arrival(2.0, request(3, at_s=2.0))
    (full,) = proxy.arrival(3.0, request(4, at_s=3.0))
    assert isinstance(full, Drop)
    assert full.id == 4
    assert proxy.next_timer_s() == 6.0
    assert ids(proxy.timer_due(6.0)) == [2]
    assert proxy.next_timer_s() == 7.0


def test_nginx_lets_a_burst_through_and_then_the_rate():
    proxy = models.create("nginx", {"rate_rps": 1.0, "burst": 2}, 5.6)
    at_once = [proxy.arrival(0.0, request(id)) for id in range(5)]
    assert [ids(verdicts) for verdicts in at_once] == [[], [], [], [3], [4]]
    assert proxy.arrival(1.0, request(5, at_s=1.0)) == ()
    assert ids(proxy.arrival(1.0, request(6, at_s=1.0))) == [6]
    assert proxy.arrival(1.0, request(7, Page.LOGIN, 1.0)) == ()  # no limit on the checkout


def test_nginx_limits_the_requests_at_the_shop_and_its_rate_follows_the_capacity():
    proxy = models.create("nginx", {"connections": 1}, 5.6)
    assert proxy.arrival(0.0, request(1)) == ()
    assert ids(proxy.arrival(0.0, request(2))) == [2]
    assert ids(proxy.workers_free(0.0, 30)) == [1]
    proxy.completion(1.0, 1, Outcome.ANSWERED)
    assert proxy.arrival(1.0, request(3, at_s=1.0)) == ()


def test_a_model_takes_the_parameters_of_the_program():
    with pytest.raises(PolicyError, match=r"parameters\.workers"):
        models.create("haproxy", {"workers": 3}, 5.6)
