"""The bound against chains calculated by hand, the program's dual, runs, and real policies."""

import math
import random

import pytest

from lab.analysis.bound import optimum
from lab.analysis.cells import bound_of_spec
from lab.intervals import simultaneous
from lab.leaderboard.measures import EFFICIENCY, case_of
from lab.spec.experiment import Spec, changed, load_spec
from lab.studies.measures import simulate_case
from loadgen.workload.sessions import MEAN_EXECUTION_S, PAGES, Chain

LIFO_PRI = Chain()
FORKED = Chain({"Br-1": {"Br-2": 0.5, "Br-3": 0.5}, "Br-2": {"Tr-4": 0.9}, "Br-3": {"Tr-4": 0.1}})
"""Half of the sessions buy nearly always, half hardly ever: that is known once they are seen."""
EVEN = dict.fromkeys(PAGES, 1.0)


@pytest.mark.parametrize("room", [2.0, 0.9, 0.05])
def test_of_lifo_pris_chain_it_is_the_room(room):
    """Whole sessions are turned away at their first page; the others are finished."""
    assert optimum(LIFO_PRI, room) == pytest.approx(min(1.0, room), rel=1e-12)


def test_by_hand_those_who_hardly_buy_are_turned_away_first():
    """A session costs 1 + 1 + 0.5 = 2.5 pages and brings 0.5 confirms. Without Br-3 it costs
    1 + 0.5 + 0.45 = 1.95 and brings 0.45; so with 1.95 / 2.5 of the time exactly 0.9 of the
    confirms are left, and with less newcomers are turned away."""
    assert optimum(FORKED, 1.95 / 2.5, EVEN) == pytest.approx(0.9)
    assert optimum(FORKED, (1.95 + 0.55 / 2) / 2.5, EVEN) == pytest.approx(0.95)
    assert optimum(FORKED, 1.95 / 5, EVEN) == pytest.approx(0.45)


def test_what_a_page_costs_decides_too():
    """Br-3 as cheap as nothing: even those who hardly buy are served before any newcomer."""
    cheap = {**EVEN, "Br-3": 1e-9, "Tr-4": 1e-9}
    assert optimum(FORKED, 1 / 1.2, cheap) == pytest.approx(1 / 1.2)


def dual(chain, room, execution_s, price):
    """The value of the dual at a price μ on the server's time: no policy can do better.

    W_p = max(0, r_p − μ w_p + Σ P(p → q) W_q) is the worth of a session that comes to page p; the
    dual's value is μ + W_first.
    """
    visits = chain.visits()
    whole_s = sum(visits[page] * execution_s[page] for page in PAGES)
    cost = {page: execution_s[page] / whole_s / room for page in PAGES}
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
    """The slope of the optimum is the price at which the dual has its least value, the optimum."""
    rng = random.Random(seed)
    chain = random_chain(rng)
    execution_s = {page: rng.uniform(0.1, 1.0) for page in PAGES}
    for room in (0.95, 0.7, 0.3, 0.1):
        low, best, high = (optimum(chain, room + d, execution_s) for d in (-1e-6, 0.0, 1e-6))
        price = (high - low) / 2e-6 * chain.visits()["Tr-4"] * room
        assert best == pytest.approx(dual(chain, room, execution_s, price), abs=1e-7)
        for factor in (0.9, 1.1):
            assert dual(chain, room, execution_s, factor * price) >= best - 1e-7


def bound(capacity_rps=4.0, **sections):
    spec = Spec.model_validate({"engine": "simulated", **sections})
    return bound_of_spec(spec, capacity_rps)


def planned(sessions):
    """As many sessions as the chain makes of them, page by page."""
    return {page: sessions * n for page, n in Chain().visits().items()}


REQUESTS = sum(Chain().visits().values())
"""The requests of a session."""


@pytest.mark.parametrize(
    ("capacity_rps", "working_s", "reachable"),
    [(4.0, 1000 * REQUESTS, 1.0), (8.0, 1000 * REQUESTS / 16, 0.5), (4.0, 0.0, 0.0)],
)
def test_of_a_run_the_room_is_what_the_server_can_work(capacity_rps, working_s, reachable):
    """Capacity × time divided by the requests that the customers would have sent."""
    found = bound(capacity_rps).reachable_ratio(planned(1000), working_s)
    assert found == pytest.approx(reachable)


def test_of_a_run_a_server_slower_than_believed_leaves_less_room():
    """No policy knows `execution_factor`; the server's measured capacity counts."""
    half = 1000 * REQUESTS / 8
    assert bound(server={"execution_factor": 2}).reachable_ratio(
        planned(1000), half
    ) == pytest.approx(1 / 4)


def test_of_sessions_known_by_their_length_it_is_the_share_of_the_work():
    """No session buys, so the chain has no effect."""
    lengths = bound(customers={"lengths": {"mean": 5}})
    asked = dict.fromkeys(PAGES, 0) | {"Br-1": 5000}
    whole_s = (
        5000 * MEAN_EXECUTION_S["Br-1"] / (4.0 * lengths.model.mean_execution_s(MEAN_EXECUTION_S))
    )
    assert lengths.reachable_ratio(asked, whole_s / 2) == pytest.approx(0.5)


@pytest.mark.parametrize(("policy", "rho"), [("door-lifo", 3.0), ("8q-lifo-pri", 1.2)])
def test_no_policy_exceeds_it(policy, rho):
    """Ten runs of 500 sessions each; `doorbuster leaderboard bound` has all policies, six loads
    and three lengths."""
    spec = changed(
        load_spec("leaderboard"), leaderboard=False, load={"rho": [rho], "sessions": 500}
    )
    case = case_of(spec, policy, EFFICIENCY).as_json()
    runs = [simulate_case({"case": case, "seed": seed}) for seed in range(1, 11)]
    found = simultaneous([run["estimated"] for run in runs], looks=4)
    assert found.mean - found.half_width <= 1.0
    confirms, most = (sum(run[key] for run in runs) for key in ("confirms", "bound"))
    assert confirms - 3 * math.sqrt(confirms) <= most
    if policy.startswith("door"):
        assert found.mean > 0.9  # a bound that is far away says nothing
