"""The papers' studies: what is planned, and how claims are decided."""

import dataclasses

import pytest

from lab.experiments import comparison
from lab.experiments.reproduction import lifo_pri_study, live, sbac_cases, sbac_study
from lab.experiments.reproduction.command import PAPERS as NAMES
from lab.experiments.reproduction.lifo_pri_cases import Cases as LifoPriCases
from lab.experiments.reproduction.lifo_pri_cases import quick as lifo_pri_quick
from lab.experiments.reproduction.metrics import simulate_case
from lab.experiments.reproduction.store import Results, plan
from lab.experiments.reproduction.studies import PAPERS
from tests.lab.reproduction.small import repeated

SBAC = sbac_cases.Cases(sbac_cases.quick())
SIMULATED = [name for name, paper in PAPERS.items() if paper.simulated]
FIGURES = {
    "ad-server": {
        *(f"figure-{i}" for i in (5, 8)),
        "figures-6-and-7",
        "table-3",
        "table-4",
        "alone",
    },
    "connection-sentry": {
        "tables-1-and-2",
        "tables-3-and-4",
        "figure-7",
        "paper-profile",
        "wasted-work",
        "no-help",
    },
    "edragon": {"zones", *(f"figure-{i}" for i in (1, *range(4, 12)))},
    "lifo-pri": {"table-1", "tables-4-and-5", *(f"figure-{i}" for i in range(3, 9))},
    "sbac": {"figure-11-50s", "figure-11-500s", *(f"figure-{i}" for i in range(2, 11))},
}


def claim_named(claims, text):
    (claim,) = [claim for claim in claims if text in claim.text]
    return claim


def test_the_command_knows_every_paper():
    assert tuple(PAPERS) == NAMES


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("quick", [True, False])
def test_the_plan_has_every_figure_and_no_case_twice(paper, quick):
    study = PAPERS[paper].study(quick=quick)
    assert FIGURES[paper] <= {exhibit.key for exhibit in study.exhibits}
    planned = plan(study.cases(), seed=1, repetitions=2)
    assert len({simulation.name for simulation in planned}) == len(planned)
    # Figures share their cases: far fewer are simulated than are drawn.
    assert len(planned) // 2 < len(list(study.cases()))


@pytest.mark.parametrize("paper", SIMULATED)
def test_every_case_can_be_simulated(paper):
    cases = {case.id: case for case in PAPERS[paper].study(quick=True).cases()}
    for case in cases.values():
        case.scenario(1)


def test_tables_4_and_5_are_the_labs_own_tables():
    exhibits = PAPERS["lifo-pri"].study(quick=True).exhibits
    (exhibit,) = (one for one in exhibits if one.key == "tables-4-and-5")
    metrics = {
        case.id: [simulate_case({"case": dataclasses.replace(case, sessions=60).as_json(),
                                 "seed": 1})]
        for case in exhibit.cases()
    }  # fmt: skip
    four, five = (table.table(Results(metrics)) for table in exhibit.tables)
    assert four.rows[0][:3] == ("0.85", "SQ", "Generated")
    assert "ρ = 1.4 8Q-LIFO-Pri" in five.header


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_need_only_what_is_simulated_and_wait_for_it(paper):
    for claim in PAPERS[paper].study(quick=True).claims:
        assert claim.decide(Results({})) == ("not simulated", None)


@pytest.mark.parametrize(
    ("length", "holds"), [(4.3, True), (4.3 * 1.11, True), (4.3 * 1.13, False), (3.7, False)]
)
def test_the_length_of_completed_sessions_may_be_12_percent_off(length, holds):
    claim = claim_named(
        sbac_study.claims(SBAC), "mean 15: mean length of completed sessions (Fig. 4a)"
    )
    found = {claim.needs[0].id: [{"completed_length": length}]}
    assert claim.decide(Results(found))[1] is holds


@pytest.mark.parametrize(("first", "holds"), [(9814, True), (9720, True), (9700, False)])
def test_the_first_bin_may_be_a_point_off(first, holds):
    claim = claim_named(sbac_study.claims(SBAC), "(Fig. 4b)")
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
        sbac_study.claims(SBAC), "Busy day, intervals of 500 s, mean 5: stable aborts most"
    )
    found = {
        case.id: metrics_with(n) for case, n in zip(claim.needs, aborted, strict=True)
    }  # fmt: skip
    assert claim.decide(Results(found))[1] is holds


@pytest.mark.parametrize(("responsive", "predictive", "holds"), [(50, 5, True), (5, 50, False)])
def test_predictive_must_abort_less_than_responsive(responsive, predictive, holds):
    claim = claim_named(
        sbac_study.claims(SBAC), "Busy day, intervals of 500 s, mean 5: predictive aborts less"
    )
    cases = {case.admission: case for case in claim.needs}
    found = {
        cases["sbac-responsive"].id: metrics_with(responsive),
        cases["sbac-predictive"].id: metrics_with(predictive),
    }
    assert claim.decide(repeated(found))[1] is holds


@pytest.mark.parametrize(("aborted", "holds"), [(50, True), (51, False)])
def test_responsive_may_abort_5_percent_of_medium_sessions(aborted, holds):
    claim = claim_named(sbac_study.claims(SBAC), "300 %, mean 15: aborted of admitted")
    assert claim.decide(Results({claim.needs[0].id: metrics_with(aborted)}))[1] is holds


@pytest.mark.parametrize(("completed", "holds"), [(219, True), (199, True), (198, False)])
def test_table_1_may_be_two_points_off(completed, holds):
    claims = lifo_pri_study.claims(LifoPriCases(lifo_pri_quick()))
    claim = claim_named(claims, "Always-FIFO, timeout 20 s: what becomes of requests")
    counts = {"completed": completed, "timed_out": 867 - completed, "dropped": 133}
    fates = {"arrived": 1000, "rejected": 0, "completed": completed, "completed_requests": 0}
    outcomes = {
        "rho": 1.15,
        "attempts": {"Br-1": counts},
        "planned": {"Br-1": 1000},
        "fates": fates,
        "confirms": 0,
        "duration_s": 1.0,
    }
    found = {claim.needs[0].id: [{"outcomes": outcomes}]}
    assert claim.decide(Results(found))[1] is holds


@pytest.mark.parametrize("paper", live._PAPERS)
def test_every_live_run_is_a_case_of_its_study(paper):
    study, parts = live._PAPERS[paper](True, 1, 1)
    drawn = {case.id: case for case in study.cases()}
    made = {
        part.case_of(planned).id
        for part in parts
        for planned in comparison.plan(part.spec)
    }  # fmt: skip
    assert made <= drawn.keys()
    # What no run gives can be simulated beside them.
    for case in (drawn[id] for id in drawn.keys() - made):
        case.scenario(1)
    assert paper == "connection-sentry" or made == drawn.keys()


def test_a_paper_says_where_it_is_reproduced_and_how_often():
    assert {name for name, paper in PAPERS.items() if paper.engine == "live"} == {
        "connection-sentry",
        "ad-server",
    }
    sentry = PAPERS["connection-sentry"]
    # Intervals need two repetitions at least.
    counts = [
        sentry.repetitions_of(engine, quick=quick)
        for engine in ("simulated", "live")
        for quick in (True, False)
    ]
    assert min(counts) > 1
    assert PAPERS["sbac"].repetitions_of("live", quick=True) == 1
