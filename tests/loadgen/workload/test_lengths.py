"""Session lengths: the distributions, their moments, the walks of a length.

Sample sizes are 200,000 with fixed seeds. Bounds are four standard errors of the estimate: a
correct drawing is outside of one with a probability of 6e-5.
"""

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.analysis.published import published
from loadgen.workload.lengths import LengthLaw, walk_of
from loadgen.workload.sessions import (
    LONGEST_WALK,
    MEAN_EXECUTION_S,
    SBAC_TABLE_1,
    Customers,
    LengthClass,
    SessionLengths,
    SessionModel,
    SessionModelError,
)

SAMPLES = 200_000
PUBLISHED = published()["sbac"]
MEANS = PUBLISHED["session_length_means"]
KINDS = ("geometric", "exponential")


def _mean(lengths):
    return SessionModel(lengths=lengths).mean_requests()


def _variance(lengths):
    second = math.fsum((2 * n - 1) * lengths.at_least(n) for n in range(1, LONGEST_WALK + 1))
    return second - _mean(lengths) ** 2


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_of_the_mixture_are_those_of_their_class(kind):
    lengths = SessionLengths(kind, mixture=SBAC_TABLE_1)
    customers = Customers(SessionModel(lengths=lengths), 8, 1.0)
    kinds = [customers.kind(session) for session in range(SAMPLES)]
    found = [customers.length(session) for session in range(SAMPLES)]
    for index, entry in enumerate(SBAC_TABLE_1):
        own = [n for n, one in zip(found, kinds, strict=True) if one == index]
        slack = 4 * math.sqrt(entry.share * (1 - entry.share) / SAMPLES)
        assert len(own) / SAMPLES == pytest.approx(entry.share, abs=slack)
        alone = SessionLengths(kind, entry.mean)
        slack = 4 * math.sqrt(_variance(alone) / len(own))
        assert sum(own) / len(own) == pytest.approx(_mean(alone), abs=slack)
    slack = 4 * math.sqrt(_variance(lengths) / SAMPLES)
    assert sum(found) / SAMPLES == pytest.approx(_mean(lengths), abs=slack)


def test_the_mixture_is_the_published_one():
    published = PUBLISHED["trace_session_length"]
    sales, others = SBAC_TABLE_1
    assert (sales.share, sales.mean) == (published["sales_share"], published["sales"])
    assert others.mean == published["non_sales"]
    assert sales.share + others.share == 1
    mean = _mean(SessionLengths("geometric", mixture=SBAC_TABLE_1))
    assert mean == pytest.approx(published["all"], abs=0.05)


@pytest.mark.parametrize("mean", [1, 1.5, *MEANS, 73.6, 1000])
def test_the_mean_of_geometric_lengths_is_exact(mean):
    # Σ P(L ≥ n) over the lengths that can be: a geometric series.
    q = 1 / Fraction(str(mean))
    exact = (1 - (1 - q) ** LONGEST_WALK) / q
    found = _mean(SessionLengths("geometric", mean))
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("mean", [0.2, *MEANS, 73.6])
def test_the_mean_of_exponential_lengths_is_that_of_the_formula(mean):
    formula = 1 + math.exp(-1.5 / mean) / (1 - math.exp(-1 / mean))
    found = _mean(SessionLengths("exponential", mean))
    assert found == pytest.approx(formula, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_execution_time_is_that_of_the_walks(kind):
    model = SessionModel(lengths=SessionLengths(kind, 15))
    customers = Customers(model, 5, 1.0)
    pages = Counter(page for session in range(20_000) for page in customers.walk(session))
    requests = sum(pages.values())
    average = sum(count * MEAN_EXECUTION_S[page] for page, count in pages.items()) / requests
    # Within 0.2 %: of 300,000 pages each costs 0.2 to 0.3 s; the shares stray by less.
    assert average == pytest.approx(model.mean_execution_s(), rel=0.002)
    assert sum(model.visits().values()) == pytest.approx(model.mean_requests())
    assert model.visits()["Br-1"] == 1


def test_without_lengths_the_model_has_the_chains_numbers():
    model = SessionModel()
    assert model.visits() == model.chain.visits()
    customers = Customers(model, 1, 1.0)
    assert {customers.kind(session) for session in range(50)} == {0}
    for session in range(50):
        assert customers.length(session) == len(customers.walk(session))


def test_the_session_rate_counts_the_requests_of_the_lengths():
    model = SessionModel(lengths=SessionLengths("geometric", 15))
    assert model.session_rate(3.0, 1000) == pytest.approx(200)


@given(length=st.integers(1, LONGEST_WALK))
def test_a_walk_starts_at_the_main_page_and_alternates(length):
    walk = walk_of(length)
    assert len(walk) == length
    assert walk[0] == "Br-1"
    assert all(page == ("Br-2", "Br-4")[step % 2] for step, page in enumerate(walk[1:]))


@given(
    place=st.floats(0, 1, exclude_max=True),
    kind=st.sampled_from(KINDS),
    mean=st.floats(1, LONGEST_WALK),
)
def test_a_length_is_where_its_place_lies_in_the_distribution(place, kind, mean):
    lengths = SessionLengths(kind, mean)
    length = LengthLaw(lengths).length_at(0, place)
    assert 1 <= length <= LONGEST_WALK
    # P(L > n) ≤ 1 − place < P(L ≥ n), but for the last bits of the logarithm.
    assert lengths.at_least(length) >= (1 - place) * (1 - 1e-9)
    if length < LONGEST_WALK:
        assert lengths.at_least(length + 1) <= (1 - place) * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_draw_is_cut_at_the_published_means(kind):
    law = LengthLaw(SessionLengths(kind, 73.6))
    assert law.length_at(0, 1 - 2**-53) < LONGEST_WALK
    assert SessionLengths(kind, 73.6).at_least(LONGEST_WALK) < 1e-23
    assert LengthLaw(SessionLengths(kind, 1000)).length_at(0, 1 - 2**-53) == LONGEST_WALK


def test_lengths_come_from_a_stream_of_their_own():
    chain = Customers(SessionModel(), 4, 2.0)
    lengths = Customers(SessionModel(lengths=SessionLengths("geometric", 15)), 4, 2.0)
    assert lengths.patience_s(7, 3, 2) == chain.patience_s(7, 3, 2)
    assert next(lengths.arrivals()) == next(chain.arrivals())
    # Classes and lengths do not lean on each other: the longest are of both classes.
    mixture = (LengthClass("a", 0.5, 15), LengthClass("b", 0.5, 15))
    mixed = Customers(SessionModel(lengths=SessionLengths("geometric", mixture=mixture)), 4, 2.0)
    assert [mixed.length(i) for i in range(500)] == [lengths.length(i) for i in range(500)]
    long = [mixed.kind(i) for i in range(5000) if mixed.length(i) > 15]
    assert sum(long) / len(long) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(len(long)))


def test_parameters_are_json_ready_and_say_what_was_given():
    model = SessionModel(lengths=SessionLengths("exponential", 15))
    assert model.parameters()["lengths"] == {"kind": "exponential", "mean": 15}
    assert SessionModel().parameters()["lengths"] is None
    assert SessionLengths("geometric", mixture=SBAC_TABLE_1).parameters()["mixture"] == [
        {"name": "sales", "share": 0.183, "mean": 73.6},
        {"name": "non-sales", "share": 0.817, "mean": 28.2},
    ]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"kind": "normal", "mean": 5}, "kind: 'normal' is unknown; give geometric or exponential"),
        ({}, "mean: is missing; give a mean or a mixture"),
        ({"mean": 0.5}, "mean: 0.5: give 1 to 4096 requests"),
        ({"mean": math.nan}, "mean: nan: give 1 to 4096 requests"),
        ({"mean": 5000}, "mean: 5000: give 1 to 4096 requests"),
        ({"kind": "exponential", "mean": 0}, "mean: 0: give above 0 to 4096 requests"),
        ({"mean": 5, "mixture": SBAC_TABLE_1}, "mixture: give either a mean or a mixture"),
        ({"mixture": (LengthClass("a", 0.5, 5),)}, "mixture: shares add up to 0.5; make them 1"),
        (
            {"mixture": (LengthClass("a", 1.5, 5),)},
            "mixture.a.share: 1.5: give more than 0, at most 1",
        ),
        ({"mixture": (LengthClass("a", 1, 0),)}, "mixture.a.mean: 0: give 1 to 4096 requests"),
        (
            {"mixture": (LengthClass("a", 0.5, 5), LengthClass("a", 0.5, 6))},
            "mixture: a name occurs twice: a, a",
        ),
    ],
)
def test_wrong_lengths_are_refused_by_name(given, line):
    with pytest.raises(SessionModelError) as refusal:
        SessionLengths(**given)
    assert str(refusal.value).startswith(line)
    assert refusal.value.field == line.partition(":")[0]
