import pytest

from lab.report.ratios import Ratio, RatioCurve, RatioEntry, below, below_one, ratio_within
from tests.lab.studies.small import repeated, small_case

WITH, WITHOUT, THIRD = small_case(1.0), small_case(2.0), small_case(3.0)


def results(**by_case):
    cases = {"with_": WITH, "without": WITHOUT, "third": THIRD}
    return repeated({cases[name].id: [{"n": n} for n in ns] for name, ns in by_case.items()})


def ratio(over=WITH, under=WITHOUT):
    return Ratio(over, under, lambda metrics: metrics["n"])


def test_each_repetition_gives_a_ratio_of_its_own():
    found = results(with_=[1.0, 4.0], without=[2.0, 4.0])
    assert ratio().each(found) == {1: 0.5, 2: 1.0}
    assert ratio().estimate(found).mean == 0.75  # not 5 / 6, that of the means
    assert ratio().estimate(found).half_width == pytest.approx(12.706 * 0.25, rel=1e-4)


def test_what_is_missing_is_no_ratio():
    found = results(with_=[0.0, 1.0, None, 1.0, 5.0], without=[2.0, 0.0, 3.0, None])
    assert ratio().each(found) == {1: 0.0}
    assert ratio().estimate(results(with_=[1.0], without=[0.0])) is None
    assert RatioEntry(ratio(), 0.7931).text(results(with_=[1.0], without=[0.0])) == "0.79 | –"


def test_a_table_shows_the_published_ratio_beside_ours():
    entry = RatioEntry(ratio(), 12.0 / 15.2)
    assert entry.text(results(with_=[1.0, 1.0], without=[2.0, 2.0])) == "0.79 | 0.50 ± 0.00"
    assert list(entry.cases()) == [WITH, WITHOUT]


def test_a_curve_has_a_ratio_at_each_x():
    curve = RatioCurve("7.5 s", [(0, ratio()), (1, ratio(THIRD))])
    assert list(curve.cases()) == [WITH, WITHOUT, THIRD, WITHOUT]
    series = curve.series(results(with_=[1.0, 1.0], without=[2.0, 2.0]))
    assert (series.x, series.y) == ([0, 1], [0.5, None])


@pytest.mark.parametrize(
    ("smaller", "larger", "holds"),
    [
        ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], True),
        ([2.0, 2.1, 1.9], [1.0, 1.1, 0.9], False),
        ([1.0, 1.1, 0.9], [1.1, 1.0, 1.1], None),  # less, but chance may have made it so
        ([1.0, 1.1, 0.9], [1.0, 1.1, 0.9], None),
        ([1.0, 5.0, 9.0], [1.1, 5.1, 9.1], True),  # however much seeds differ: always more
        ([1.0], [2.0], True),  # without repetitions there is nothing but the difference
        ([2.0], [1.0], False),
        ([1.0, None, None], [2.0, 2.1, 1.9], None),  # one of three says nothing
    ],
)
def test_an_order_is_decided_by_the_differences_and_their_interval(smaller, larger, holds):
    claim = below("a", "b", ratio(WITH), ratio(THIRD))
    found = results(with_=smaller, third=larger, without=[1.0] * len(smaller))
    assert claim.decide(found)[1] is holds


@pytest.mark.parametrize(
    ("n", "holds"),
    [([0.5, 0.6, 0.5], True), ([1.5, 1.6, 1.5], False), ([0.9, 1.05, 0.95], None)],
)
def test_below_one_is_not_decided_while_one_is_in_the_interval(n, holds):
    claim = below_one("a", "b", ratio())
    assert claim.decide(results(with_=n, without=[1.0, 1.0, 1.0]))[1] is holds


@pytest.mark.parametrize(("n", "holds"), [(0.9, True), (1.1, True), (0.89, False)])
def test_a_ratio_within_bounds(n, holds):
    claim = ratio_within("a", "b", ratio(), 0.9, 1.1)
    assert claim.decide(results(with_=[n], without=[1.0]))[1] is holds


def test_claims_wait_for_both_cases():
    for claim in (
        below("a", "b", ratio(), ratio(THIRD)),
        below_one("a", "b", ratio()),
        ratio_within("a", "b", ratio(), 0.0, 1.0),
    ):
        assert claim.decide(results(with_=[1.0])) == ("no runs yet", None)
    nothing = results(with_=[None], without=[None], third=[None])
    assert below_one("a", "b", ratio()).decide(nothing) == ("nothing to measure", None)
