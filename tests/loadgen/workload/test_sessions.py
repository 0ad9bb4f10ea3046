"""The session model against the paper's numbers, and the equality of compared runs."""

import math
from collections import Counter
from itertools import islice, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.analysis.published import published
from loadgen.workload.sessions import (
    LONGEST_WALK,
    MEAN_EXECUTION_S,
    PAGES,
    Chain,
    Customers,
    SessionModel,
    SessionModelError,
)

PUBLISHED = published()["lifo_pri"]

QUOTA = {
    "Br-1": 1000,
    "Br-2": 400,
    "Br-3": 500,
    "Br-4": 370,
    "Tr-1": 37,
    "Tr-2": 33,
    "Tr-3": 30,
    "Tr-4": 27,
}


def test_the_chain_is_the_published_one():
    derived = PUBLISHED["derived"]["transitions"]
    assert {page: dict(row) for page, row in Chain().transitions.items()} == derived
    assert list(PAGES) == PUBLISHED["page_types"]


def test_mean_session_and_mean_execution_time():
    model = SessionModel()
    assert model.mean_requests() == pytest.approx(2.397, abs=5e-4)
    assert model.mean_execution_s() == pytest.approx(0.2501, abs=5e-5)
    published_ms = dict(zip(PAGES, PUBLISHED["mean_execution_ms"], strict=True))
    assert {page: round(s * 1000) for page, s in MEAN_EXECUTION_S.items()} == published_ms


def test_utilities_of_table_3_are_the_probabilities_of_a_confirm():
    chain = Chain()
    for page, utility in zip(PAGES, PUBLISHED["utility"], strict=True):
        # Whole numbers in the paper; 3645 of Tr-1 is given as 3650.
        factor, rounding = (1000, 0.5) if page.startswith("Br") else (5000, 5)
        assert chain.probability_of_confirm(page) * factor == pytest.approx(utility, abs=rounding)


def test_model_parameters_are_the_published_ones():
    model = SessionModel()
    assert model.timeout_s == PUBLISHED["timeout_s"]
    assert model.think_timeout_mean_s == PUBLISHED["think_timeout_mean_s"]
    assert model.retry_probability == PUBLISHED["retry_probability"]
    assert model.max_retries == PUBLISHED["max_retries"]
    assert model.file_sessions == PUBLISHED["sessions_generated"]


def test_session_rate_follows_from_rho():
    model = SessionModel()
    rate = model.session_rate(1.4, PUBLISHED["capacity_rps"])
    assert rate == pytest.approx(1.4 * 5.6 / 2.397243)


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_the_file_of_1000_sessions_has_exactly_the_counts_of_table_4(seed):
    customers = Customers(SessionModel(), seed, 1.0)
    walks = [customers.walk(session) for session in range(1000)]
    counts = Counter(page for walk in walks for page in walk)
    assert counts == QUOTA
    cycles = PUBLISHED["session_cycles"]
    generated = PUBLISHED["table4"]["rho_0_85"]["generated"]
    browsing = sum(counts[page] for page in PAGES[:4])
    assert [browsing * cycles, *(counts[page] * cycles for page in PAGES[4:])] == generated


def test_the_file_is_cycled_and_shuffled_by_the_seed():
    one, two = (Customers(SessionModel(), seed, 1.0) for seed in (1, 2))
    walks = [one.walk(session) for session in range(1000)]
    assert [one.walk(session) for session in range(1000, 2000)] == walks
    others = [two.walk(session) for session in range(1000)]
    assert others != walks
    assert Counter(others) == Counter(walks)


def test_walks_by_chance_have_the_chains_frequencies():
    sessions = 40_000
    customers = Customers(SessionModel(walks="chance"), 3, 1.0)
    counts = Counter(page for session in range(sessions) for page in customers.walk(session))
    for page, share in Chain().visits().items():
        # Each page occurs at most once in a walk: four binomial standard deviations.
        slack = 4 * math.sqrt(share * (1 - share) / sessions)
        assert counts[page] / sessions == pytest.approx(share, abs=slack + 1e-12)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 1500), st.integers(0, 2**32))
def test_every_walk_of_a_quota_file_is_possible_and_pages_are_within_two(n, seed):
    chain = Chain()
    walks = chain.quota_file(n, Random(seed))
    assert len(walks) == n
    counts = Counter(page for walk in walks for page in walk)
    for page, share in chain.visits().items():
        # Br-4 and Tr pages are reached on two ways, each within one of its expected number.
        assert abs(counts[page] - n * share) <= 2
    for walk in set(walks):
        assert walk[0] == "Br-1"
        for page, following in pairwise(walk):
            assert chain.row(page)[following] > 0


def test_arrivals_are_poisson():
    gaps = 50_000
    rate = 3.27
    times = [0.0, *islice(Customers(SessionModel(), 1, rate).arrivals(), gaps)]
    between = [b - a for a, b in pairwise(times)]
    mean = sum(between) / gaps
    assert mean == pytest.approx(1 / rate, rel=4 / math.sqrt(gaps))
    for quantile in (0.1, 0.5, 0.9, 0.99):
        below = sum(gap < -math.log(1 - quantile) / rate for gap in between) / gaps
        assert below == pytest.approx(quantile, abs=4 * math.sqrt(quantile * (1 - quantile) / gaps))
    # Independent: neighbours are not correlated.
    products = sum((a - mean) * (b - mean) for a, b in pairwise(between))
    assert products / (gaps * mean**2) == pytest.approx(0, abs=4 / math.sqrt(gaps))


def test_patience_is_eight_seconds_and_an_exponential_of_twelve():
    customers = Customers(SessionModel(), 1, 1.0)
    draws = [customers.patience_s(session, 0, 1) - 8 for session in range(50_000)]
    assert min(draws) >= 0
    assert sum(draws) / len(draws) == pytest.approx(12, rel=0.02)
    assert sum(draw > 12 for draw in draws) / len(draws) == pytest.approx(math.exp(-1), abs=0.01)


def test_retries_come_with_probability_and_at_most_five_times():
    customers = Customers(SessionModel(), 1, 1.0)
    again = sum(customers.retries(session, 2, 3) for session in range(50_000))
    assert again / 50_000 == pytest.approx(0.4, abs=0.01)
    assert not any(customers.retries(session, 0, 6) for session in range(5_000))
    assert any(customers.retries(session, 0, 5) for session in range(50))


def test_a_customer_is_the_same_whatever_was_drawn_before():
    asked_in_order = Customers(SessionModel(think_time_mean_s=7), 9, 2.0)
    asked_at_random = Customers(SessionModel(think_time_mean_s=7), 9, 2.0)
    addresses = [(i, k, j) for i in range(30) for k in range(4) for j in range(1, 6)]
    draws = {
        address: (asked_in_order.patience_s(*address), asked_in_order.retries(*address))
        for address in addresses
    }
    Random(1).shuffle(addresses)
    for address in addresses:
        asked_at_random.think_time_s(address[0], address[1])
        found = (asked_at_random.patience_s(*address), asked_at_random.retries(*address))
        assert found == draws[address]
    assert len({patience for patience, _ in draws.values()}) == len(draws)


def test_concerns_and_seeds_have_streams_of_their_own():
    def draws(seed):
        customers = Customers(SessionModel(think_time_mean_s=12), seed, 1.0)
        gaps = list(islice(customers.arrivals(), 2000))
        patience = [customers.patience_s(session, 1, 1) for session in range(2000)]
        pauses = [customers.think_time_s(session, 1) for session in range(2000)]
        return [[b - a for a, b in zip([0.0, *gaps], gaps, strict=False)], patience, pauses]

    rows = draws(1) + draws(2)
    for i, one in enumerate(rows):
        for other in rows[:i]:
            assert abs(_correlation(one, other)) < 4 / math.sqrt(2000)


def test_thinking_is_off_by_default_and_never_before_the_first_page():
    assert Customers(SessionModel(), 1, 1.0).think_time_s(5, 1) == 0
    thinking = Customers(SessionModel(think_time_mean_s=7), 1, 1.0)
    assert thinking.think_time_s(5, 0) == 0
    pauses = [thinking.think_time_s(session, 1) for session in range(20_000)]
    assert sum(pauses) / len(pauses) == pytest.approx(7, rel=0.03)


def test_patience_without_end_and_without_spread():
    assert Customers(SessionModel(timeout_s=math.inf), 1, 1.0).patience_s(0, 0, 1) == math.inf
    fixed = Customers(SessionModel(timeout_s=20, think_timeout_mean_s=0), 1, 1.0)
    assert fixed.patience_s(3, 1, 2) == 20


def test_a_chain_with_a_loop_has_its_numbers_and_its_walks():
    loop = Chain({"Br-1": {"Br-1": 0.5, "Tr-4": 0.25}})
    assert loop.visits()["Br-1"] == pytest.approx(2)
    assert SessionModel(loop).mean_requests() == pytest.approx(2.5)
    assert loop.probability_of_confirm("Br-1") == pytest.approx(0.5)
    lengths = [len(walk) for walk in loop.quota_file(512, Random(1))]
    assert sum(lengths) / 512 == pytest.approx(2.5, abs=0.05)
    assert max(lengths) < LONGEST_WALK


@pytest.mark.parametrize(
    ("transitions", "named"),
    [
        ({"Br-9": {"Br-1": 0.1}}, "unknown page 'Br-9'"),
        ({"Br-1": {"Cart": 0.1}}, "transitions.Br-1: unknown page 'Cart'"),
        ({"Br-1": {"Br-2": -0.1}}, "transitions.Br-1.Br-2: -0.1 is not a probability"),
        ({"Br-1": {"Br-2": math.nan}}, "transitions.Br-1.Br-2: nan is not a probability"),
        ({"Br-1": {"Br-2": 0.6, "Br-3": 0.5}}, "transitions.Br-1: probabilities add up to 1.1"),
        ({"Br-1": {"Br-2": 1}, "Br-2": {"Br-1": 1}}, "transitions.Br-1: no session ever exits"),
    ],
)
def test_a_wrong_chain_is_refused_by_name(transitions, named):
    with pytest.raises(SessionModelError) as refusal:
        Chain(transitions)
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeout_s", -1.0),
        ("timeout_s", math.nan),
        ("think_timeout_mean_s", -0.1),
        ("think_time_mean_s", math.inf),
        ("retry_probability", 1.1),
        ("max_retries", -1),
        ("max_retries", 1000),
        ("walks", "file"),
        ("file_sessions", 0),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(field, value):
    with pytest.raises(SessionModelError) as refusal:
        SessionModel(**{field: value})
    assert refusal.value.field == field
    assert str(refusal.value).startswith(f"{field}: ")


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_rates_are_above_zero(value):
    for ask in (
        lambda: SessionModel().session_rate(value, 5.6),
        lambda: SessionModel().session_rate(1, value),
        lambda: Customers(SessionModel(), 1, value),
    ):
        with pytest.raises(SessionModelError):
            ask()


def _correlation(one, other):
    n = len(one)
    a, b = sum(one) / n, sum(other) / n
    cov = sum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    spread = math.sqrt(sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in other))
    return cov / spread
