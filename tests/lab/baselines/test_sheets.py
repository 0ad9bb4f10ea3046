import pytest

from gateway.policies import ADMISSIONS, POLICIES, PolicyError
from gateway.policies.interface import Page
from lab.baselines.sheets import PROXIES, check_leaving, knows_its_rate, read
from lab.wording import TITLES


def test_proxies_have_names_of_their_own_and_titles():
    assert not set(PROXIES) & {*POLICIES, *ADMISSIONS}
    assert set(PROXIES) <= set(TITLES)


def test_later_pages_go_first_by_default():
    priorities = read("haproxy", {})["priorities"]
    assert sorted(Page, key=lambda page: priorities[page]) == list(reversed(Page))


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("haproxy", {"maxconn": 0}, "parameters.maxconn"),
        ("haproxy", {"priorities": {"Br-1": 0.5}}, "parameters.priorities.Br-1"),
        ("haproxy", {"priorities": {"Br-9": 1}}, "parameters.priorities"),
        ("nginx", {"nodelay": 2}, "parameters.nodelay"),
        ("nginx", {"rate": 2}, "parameters.rate"),
    ],
)
def test_a_wrong_parameter_is_named(name, given, field):
    with pytest.raises(PolicyError) as fault:
        read(name, given)
    assert fault.value.field == field


def test_what_a_proxy_cannot_do_with_who_leaves_is_refused():
    for name in PROXIES:
        check_leaving(name, {}, "ignore")
        check_leaving(name, {}, "cancel")
    check_leaving("nginx", {"nodelay": 0}, "drop-queued")
    with pytest.raises(PolicyError, match="allowed: ignore, cancel"):
        check_leaving("haproxy", {}, "drop-queued")
    with pytest.raises(PolicyError, match="nodelay = 1"):
        check_leaving("nginx", {"nodelay": 0}, "ignore")


def test_only_a_share_of_the_capacity_needs_one():
    assert knows_its_rate("haproxy", {})
    assert not knows_its_rate("nginx", {})
    assert knows_its_rate("nginx", {"rate_rps": 4})
