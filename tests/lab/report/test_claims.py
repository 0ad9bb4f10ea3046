"""The usual ways of deciding claims: by intervals where there are repetitions."""

from math import inf

import pytest

from lab.report.claims import at_most, conclusion, falling, short_conclusion, within
from tests.lab.studies.small import repeated, small_case

CALM, BUSY = small_case(0.3), small_case(2.0)


def figure(metrics):
    return metrics["figure"]


def results(calm, busy):
    return repeated({
        CALM.id: [{"figure": one} for one in calm],
        BUSY.id: [{"figure": one} for one in busy],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("calm", "busy", "holds"),
    [
        ([3, 4, 5], [2, 3, 4], True),
        ([2, 3, 4], [3, 4, 5], False),
        ([10, 14, 18], [12.5, 13.5, 15.5], None),  # the mean alone is larger
        ([5], [4], True),
        ([4], [5], False),
        ([4], [4], None),
    ],
)
def test_falling_is_decided_by_the_differences_of_each_repetition(calm, busy, holds):
    claim = falling("calm before busy", "falling", [(CALM, figure), (BUSY, figure)])
    assert claim.decide(results(calm, busy))[1] is holds


def test_one_step_up_is_enough_for_no():
    claim = falling("", "", [(CALM, figure), (BUSY, figure), (BUSY, lambda _: 9.0)])
    assert claim.decide(results([3, 4, 5], [2, 3, 4]))[1] is False


@pytest.mark.parametrize(
    ("values", "holds"), [([9.9, 10, 10.1], True), ([8, 10, 12], None), ([3], False), ([10], True)]
)
def test_within_is_not_decided_while_a_bound_is_in_the_interval(values, holds):
    claim = within("", CALM, figure, 9.0, inf, "at least 9", 1)
    assert claim.decide(results(values, values))[1] is holds


def test_what_cannot_be_below_nothing_is_not_held_against_nothing():
    claim = at_most("", CALM, figure, 5.0)
    assert claim.decide(results([0.0, 0.1, 0.2], [1]))[1] is True


def rows(**holds):
    return [{"Claim": claim, "Holds": word} for claim, word in holds.items()]


@pytest.mark.parametrize(
    ("claims", "sentences", "short"),
    [
        ([], [], ""),
        (rows(a="yes", b="yes"), ["All 2 claims of this report hold."], "2 of 2 claims hold"),
        (
            rows(a="yes", b="no", c="not decided", d="no", e="no"),
            [
                "1 of 5 claims of this report hold, 3 do not, 1 could not be decided.",
                "Not confirmed: “b”; “d”; and 1 more.",
            ],
            "1 of 5 claims hold",
        ),
        (
            rows(a="no"),
            ["0 of 1 claims of this report hold, 1 does not.", "Not confirmed: “a”."],
            "0 of 1 claims hold",
        ),
    ],
)  # fmt: skip
def test_a_report_concludes_with_its_claims(claims, sentences, short):
    """The conclusion counts the claims, and names those that the numbers contradict."""
    assert conclusion(claims) == sentences
    assert short_conclusion(claims) == short
