"""The bound against chains reckoned by hand, the design's figures, and the program's dual."""

import math
import random

import pytest

from lab.experiments.leaderboard.bound import capacity_bound, optimum, reachable_ratio
from lab.experiments.spec import Spec
from loadgen.sessions import MEAN_EXECUTION_S, PAGES, Chain, SessionLengths, SessionModel

LIFO_PRI = Chain()
FORKED = Chain({"Br-1": {"Br-2": 0.5, "Br-3": 0.5}, "Br-2": {"Tr-4": 0.9}, "Br-3": {"Tr-4": 0.1}})
"""Half of the sessions buy nearly always, half hardly ever: that is known once they are seen."""
EVEN = dict.fromkeys(PAGES, 1.0)


@pytest.mark.parametrize("rho", [0.5, 1.0, 1.1, 1.2, 1.4, 2.0, 3.0, 20.0])
def test_of_lifo_pris_chain_it_is_one_over_rho(rho):
    assert capacity_bound(SessionModel(), rho) == pytest.approx(1 / max(1.0, rho), rel=1e-12)


def test_the_designs_confirms_at_1_4():
    assert 647 * capacity_bound(SessionModel(), 1.4) == pytest.approx(462, abs=0.5)


def test_of_lifo_pris_chain_only_newcomers_are_turned_away():
    best = optimum(LIFO_PRI, 2.0)
    assert best.turned_away_ratio["Br-1"] == pytest.approx(0.5)
    assert all(best.turned_away_ratio[page] == pytest.approx(0.0) for page in PAGES[1:])
    assert best.worth_per_time == pytest.approx(1.0)
    assert optimum(LIFO_PRI, 0.9).worth_per_time == 0.0


def test_by_hand_those_who_hardly_buy_are_turned_away_first():
    """A session costs 1 + 1 + 0.5 = 2.5 pages and brings 0.5 confirms. Without Br-3 it costs
    1 + 0.5 + 0.45 = 1.95 and brings 0.45; so at ρ = 2.5 / 1.95 exactly 0.9 of the confirms are
    left, and beyond it newcomers are turned away."""
    rho = 2.5 / 1.95
    assert optimum(FORKED, rho, EVEN).confirm_ratio == pytest.approx(0.9)
    halfway = optimum(FORKED, 2.5 / (1.95 + 0.55 / 2), EVEN)
    assert halfway.confirm_ratio == pytest.approx(0.95)
    assert halfway.turned_away_ratio == pytest.approx(
        {"Br-1": 0.0, "Br-2": 0.0, "Br-3": 0.5, "Tr-4": 0.0}
    )
    assert optimum(FORKED, 2 * rho, EVEN).turned_away_ratio["Br-1"] == pytest.approx(0.5)
    assert optimum(FORKED, 2 * rho, EVEN).turned_away_ratio["Br-3"] == pytest.approx(1.0)


def test_a_page_that_leads_nowhere_is_not_served_in_overload():
    useless = Chain({"Br-1": {"Br-2": 0.5, "Br-3": 0.5}, "Br-3": {"Tr-4": 1.0}})
    assert optimum(useless, 1.25, EVEN).confirm_ratio == pytest.approx(1.0)  # 2.5 pages, 0.5 for it


def test_what_a_page_costs_decides_too():
    """Br-3 as cheap as nothing: even those who hardly buy are served before any newcomer."""
    cheap = {**EVEN, "Br-3": 1e-9, "Tr-4": 1e-9}
    best = optimum(FORKED, 1.2, cheap)
    assert best.turned_away_ratio["Br-3"] == pytest.approx(0.0)


def proven(chain, rho, execution_s):
    """The least value of the dual that belongs to the price found: no policy can do better.

    With a price μ on the server's time, W_p = max(0, r_p − μ w_p + Σ P(p → q) W_q) is the worth
    of a session that comes to page p; the dual's value is μ + W_first.
    """
    visits = chain.visits()
    whole_s = sum(visits[page] * execution_s[page] for page in PAGES)
    cost = {page: rho * execution_s[page] / whole_s for page in PAGES}
    price = optimum(chain, rho, execution_s).worth_per_time * visits["Tr-4"] / rho
    worth = dict.fromkeys(PAGES, 0.0)
    for _ in range(2000):
        worth = {
            page: max(0.0, (page == "Tr-4") - price * cost[page]
                      + sum(p * worth[q] for q, p in chain.row(page).items()))
            for page in PAGES
        }  # fmt: skip
    return (price + worth["Br-1"]) / visits["Tr-4"]


def random_chain(rng):
    """Arrows forwards and backwards, at most 0.9 in all from a page."""
    rows = {}
    for page in PAGES[:-1]:
        weights = [rng.random() ** 3 for _ in PAGES]
        left = round(rng.uniform(0.3, 0.9), 3)
        rows[page] = {
            other: math.floor(1000 * left * weight / sum(weights)) / 1000
            for other, weight in zip(PAGES, weights, strict=True)
        }
    return Chain(rows)


@pytest.mark.parametrize("seed", range(3))
def test_the_dual_proves_it_the_best_also_of_chains_with_circles(seed):
    rng = random.Random(seed)
    chain = random_chain(rng)
    execution_s = {page: rng.uniform(0.1, 1.0) for page in PAGES}
    for rho in (1.05, 1.4, 3.0, 8.0):
        best = optimum(chain, rho, execution_s)
        assert best.confirm_ratio == pytest.approx(proven(chain, rho, execution_s), abs=1e-7)
        used = sum(best.flow[page] * execution_s[page] for page in PAGES)
        whole = sum(n * execution_s[page] for page, n in chain.visits().items())
        assert used <= whole / rho * (1 + 1e-9)
        for page in PAGES:
            came = (page == "Br-1") + sum(
                best.flow[origin] * chain.row(origin).get(page, 0.0) for origin in PAGES
            )
            assert -1e-12 <= best.flow[page] <= came + 1e-9


def simulated(**sections):
    return Spec.model_validate({"engine": "simulated", **sections})


def test_of_a_spec_it_is_that_of_its_customers_and_of_its_server_as_it_is():
    assert reachable_ratio(simulated(), 1.4) == pytest.approx(1 / 1.4)
    assert reachable_ratio(simulated(server={"execution_factor": 2}), 1.4) == pytest.approx(1 / 2.8)
    assert reachable_ratio(simulated(customers={"buy_probability": 0.15}), 2.0) == pytest.approx(
        0.5
    )
    steps = [{"duration_s": 60, "rho": 0.5}, {"duration_s": 60, "rho": 2.5}]
    assert reachable_ratio(simulated(load={"schedule": steps}), 1.0) == pytest.approx(1 / 1.5)
    lengths = simulated(customers={"lengths": {"mean": 5}})
    assert reachable_ratio(lengths, 2.0) == pytest.approx(0.5)
    assert SessionLengths(mean=5) == lengths.customers.as_model().lengths
    assert reachable_ratio(Spec(clients={}, load={"duration_s": 60}), None) is None


def test_execution_times_of_the_paper_are_what_it_rests_on():
    uneven = optimum(LIFO_PRI, 1.4, MEAN_EXECUTION_S).confirm_ratio
    assert uneven == pytest.approx(optimum(LIFO_PRI, 1.4, EVEN).confirm_ratio)  # both at the door
