"""SBAC's study: how its claims are decided on given data."""

import pytest

from lab.results.metrics import Results
from lab.studies.sbac.claims import claims
from lab.studies.sbac.study import STUDY
from tests.lab.studies.small import claim_named, repeated

SBAC = STUDY.cases_of("simulated", quick=True)


@pytest.mark.parametrize(
    ("length", "holds"), [(4.3, True), (4.3 * 1.11, True), (4.3 * 1.13, False), (3.7, False)]
)
def test_the_length_of_completed_sessions_may_be_12_percent_off(length, holds):
    claim = claim_named(claims(SBAC), "mean length 15: mean length of completed sessions (Fig. 4a)")
    found = {claim.needs[0].id: [{"completed_length": length}]}
    assert claim.decide(Results(found))[1] is holds


@pytest.mark.parametrize(("first", "holds"), [(9814, True), (9720, True), (9700, False)])
def test_the_first_bin_may_be_a_point_off(first, holds):
    claim = claim_named(claims(SBAC), "(Fig. 4b)")
    found = {claim.needs[0].id: [{"completed_bins": [first, 10_000 - first, 0]}]}
    assert claim.decide(Results(found))[1] is holds


def metrics_with(aborted):
    return [{"sessions": 1000, "rejected": 0, "aborted": aborted}]


@pytest.mark.parametrize(
    ("aborted", "holds"),
    [
        ((100, 50, 60, 1), True),
        ((50, 100, 60, 1), False),
        ((100, 100, 0, 0), False),  # no more than another is not most
        ((0, 0, 0, 0), True),  # nobody was aborted
        ((0, 0, 0, 1), False),
    ],
)
def test_stable_must_abort_most_wherever_any_aborts(aborted, holds):
    claim = claim_named(
        claims(SBAC), "Busy day, intervals of 500 s, mean length 5: stable aborts the most"
    )
    found = {
        case.id: metrics_with(n) for case, n in zip(claim.needs, aborted, strict=True)
    }  # fmt: skip
    assert claim.decide(Results(found))[1] is holds


@pytest.mark.parametrize(("responsive", "predictive", "holds"), [(50, 5, True), (5, 50, False)])
def test_predictive_must_abort_less_than_responsive(responsive, predictive, holds):
    claim = claim_named(
        claims(SBAC), "Busy day, intervals of 500 s, mean length 5: predictive aborts fewer"
    )
    cases = {case.run.policy.admission: case for case in claim.needs}
    found = {
        cases["sbac-responsive"].id: metrics_with(responsive),
        cases["sbac-predictive"].id: metrics_with(predictive),
    }
    assert claim.decide(repeated(found))[1] is holds


@pytest.mark.parametrize(("aborted", "holds"), [(50, True), (51, False)])
def test_responsive_may_abort_5_percent_of_medium_sessions(aborted, holds):
    claim = claim_named(claims(SBAC), "300 %, mean length 15: aborted sessions, % of admitted")
    assert claim.decide(Results({claim.needs[0].id: metrics_with(aborted)}))[1] is holds


@pytest.mark.parametrize(("quick", "largest"), [(True, "200 %"), (False, "300 %")])
def test_a_live_report_prints_the_largest_load_of_its_runs(quick, largest):
    text = STUDY.text(STUDY.cases_of("live", quick=quick), quick=quick)
    assert f"loads are up to {largest}." in text.summary[0]
