"""The hosting platform: rules that hold in every run, and eDragon's benefits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.policies.processor_assignment import Wish, assign
from simulator.hosting import simulate_platform
from simulator.hosting_result import AppResult, HostedFate
from tests.simulator.hosting_scenes import app, short

PROVISIONINGS = ("ecm", "static", "linux")


def same(some: list[AppResult], others: list[AppResult]) -> bool:
    """Return whether both results are equal to the last digit."""
    return all(
        a.sessions == b.sessions
        and (a.busy_s, a.wasted_busy_s, a.replies) == (b.busy_s, b.wasted_busy_s, b.replies)
        and a.response_s.tobytes() == b.response_s.tobytes()
        and all(a.series[name].tobytes() == b.series[name].tobytes() for name in a.series)
        for a, b in zip(some, others, strict=True)
    )


def replies_ps(found: AppResult, from_s: int) -> float:
    return float(found.series["replies"][from_s:].mean())


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    rates_ps=st.lists(st.floats(0.5, 15), min_size=1, max_size=3),
    provisioning=st.sampled_from(PROVISIONINGS),
    admission=st.sampled_from(["eac", "none"]),
    sharing=st.sampled_from(["both", "to-high", "none"]),
    threads=st.sampled_from([1, 20, 100]),
    backlog=st.sampled_from([0, 10, None]),
)
def test_nothing_gets_lost(seed, rates_ps, provisioning, admission, sharing, threads, backlog):
    scenario = short(
        *rates_ps,
        seed=seed,
        duration_s=61.5,
        provisioning=provisioning,
        admission=admission,
        sharing=sharing,
        threads=threads,
        backlog=backlog,
    )
    found = simulate_platform(scenario)
    for each in found:
        series = each.series
        assert {len(column) for column in series.values()} == {62}
        assert sum(each.sessions.values()) == series["new_sessions"].sum()
        assert min(each.sessions.values()) >= 0
        assert each.sessions[HostedFate.REFUSED] == series["refused"].sum()
        assert each.replies == series["replies"].sum()
        assert len(each.response_s) == len(each.response_ended_s) <= each.replies
        assert series["busy"].sum() - 0.5 * series["busy"][-1] == pytest.approx(each.busy_s)
        assert 0 <= each.wasted_busy_s <= each.busy_s + 1e-6
        begun_s = each.new_connections_busy_s + each.resumed_connections_busy_s
        assert each.busy_s <= begun_s + 1e-6
        assert (series["refused"] <= series["new_connections"]).all()
    busy = sum(each.series["busy"] for each in found)
    assert busy.max() <= 4 + 1e-6
    if provisioning != "linux":
        assert sum(each.series["processors"] for each in found).max() <= 4


@pytest.mark.parametrize("provisioning", PROVISIONINGS)
def test_the_same_scenario_gives_the_same_result(provisioning):
    scenario = short(12.0, 3.0, duration_s=60.0, provisioning=provisioning)
    assert same(simulate_platform(scenario), simulate_platform(scenario))
    assert not same(simulate_platform(scenario), simulate_platform(replace(scenario, seed=2)))


def test_customers_are_the_same_whatever_they_meet():
    one, other = (
        simulate_platform(short(12.0, duration_s=60.0, admission=admission))[0]
        for admission in ("eac", "none")
    )
    assert (one.series["new_sessions"] == other.series["new_sessions"]).all()


def test_the_manager_assigns_what_its_policy_says_of_the_requests():
    rates = ((14.0, 2.0), (3.0, 1.0))
    apps = tuple(app(rate, 120.0, priority=priority) for rate, priority in rates)
    one, other = simulate_platform(short(applications=apps, duration_s=120.0))
    seen = set()
    for second in range(4, 120):
        asked = tuple(int(each.series["requested"][second]) for each in (one, other))
        shares = assign([Wish("0", 2.0, asked[0]), Wish("1", 1.0, asked[1])], 4)
        assert [shares[name].processors for name in ("0", "1")] == [
            each.series["processors"][second] for each in (one, other)
        ]
        seen.add(asked)
    assert len(seen) > 3
    assert np.isnan(one.series["requested"][:2]).all()
    assert one.series["processors"][0] == 3  # until they ask, each is taken to need all
    assert other.series["processors"][0] == 1


def test_without_admission_each_application_counts_as_needing_all_processors():
    apps = (app(1.0, 60.0, priority=3.0), app(20.0, 60.0))
    found = simulate_platform(short(applications=apps, duration_s=60.0, admission="none"))
    assert [set(each.series["processors"]) for each in found] == [{3}, {1}]


@pytest.mark.parametrize(
    ("applications", "processors", "share", "busy"),
    [
        (3, 4, 1.0, [1, 1, 1]),
        (2, 3, 1.5, [1.5, 1.5]),
        (3, 2, 0.5, [0.5, 0.5, 1]),  # the third has its processor for itself
        (3, 5, 1.5, [1.5, 1.5, 2]),
    ],
)
def test_static_shares_are_even(applications, processors, share, busy):
    rates_ps = [20.0] * applications
    found = simulate_platform(
        short(*rates_ps, processors=processors, provisioning="static", admission="none")
    )
    assert {assigned for each in found for assigned in each.series["processors"]} == {share}
    used = [each.series["busy"][60:-2].mean() for each in found]
    assert used == pytest.approx(busy, abs=1e-6)


def test_an_application_uses_no_more_than_it_is_assigned():
    """The shared processor is an exception: it is the partner's when that one has no
    work for it."""
    scenario = short(20.0, 2.0, duration_s=120.0, sharing="none")
    for each in simulate_platform(scenario):
        # Assigned at even seconds, accounted for over the two that follow.
        assert (each.series["busy"][:-2] <= each.series["processors"][:-2] + 1e-6).all()


@pytest.mark.parametrize("admission", ["eac", "none"])
def test_an_application_with_processors_of_its_own_does_not_notice_the_other(admission):
    """Section 3.1.2, application isolation: the same, to the last digit."""
    calm, wild = (
        simulate_platform(
            short(6.0, rate, duration_s=60.0, provisioning="static", admission=admission)
        )[0]
        for rate in (1.0, 40.0)
    )
    assert calm.sessions == wild.sessions
    assert calm.response_s == pytest.approx(wild.response_s, abs=1e-9)


def test_a_storm_of_new_sessions_does_not_starve_those_under_way():
    """Admitted sessions get to their end, up to those that come before the first prediction."""
    found = simulate_platform(short(60.0))[0]
    let_in = found.series["new_sessions"].sum() - found.sessions[HostedFate.REFUSED]
    assert found.sessions[HostedFate.REFUSED] > 0.8 * found.series["new_sessions"].sum()
    assert found.sessions[HostedFate.TIMED_OUT] < 0.25 * let_in
    original = simulate_platform(short(60.0, admission="none"))[0]
    assert original.sessions[HostedFate.COMPLETED] < 0.7 * found.sessions[HostedFate.COMPLETED]


def test_overloaded_the_original_falls_and_the_self_managed_does_not():
    def at(rate: float, **platform: str) -> float:
        return replies_ps(simulate_platform(short(rate, **platform))[0], 60)

    original = {"provisioning": "static", "admission": "none"}
    assert at(50.0, **original) < 0.7 * at(9.0, **original)
    assert at(50.0) > 0.9 * at(9.0)


def test_admission_that_is_blind_to_its_processors_is_worse_than_the_manager():
    def together(provisioning: str) -> float:
        found = simulate_platform(short(25.0, 25.0, provisioning=provisioning))
        return sum(replies_ps(each, 60) for each in found)

    assert together("linux") < 0.8 * together("ecm")
