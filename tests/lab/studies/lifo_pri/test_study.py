"""LIFO-Pri's study: its tables and how its claims are decided on given data."""

import pytest

from lab.results.metrics import Results
from lab.studies.lifo_pri.claims import claims
from lab.studies.lifo_pri.study import STUDY
from lab.studies.measures import simulate_case
from tests.lab.studies.small import claim_named


def test_tables_4_and_5_are_the_labs_own_tables():
    figures = STUDY.build(quick=True).figures
    (figure,) = (one for one in figures if one.key == "tables-4-and-5")
    metrics = {
        case.id: [simulate_case({"case": case.with_(sessions=60).as_json(),
                                 "seed": 1})]
        for case in figure.cases()
    }  # fmt: skip
    four, five = (table.table(Results(metrics)) for table in figure.tables)
    assert four.rows[0][:3] == ("0.85", "SQ", "Generated")
    assert "ρ = 1.4 8Q-LIFO-Pri" in five.header


@pytest.mark.parametrize(("completed", "holds"), [(219, True), (199, True), (198, False)])
def test_table_1_may_be_two_points_off(completed, holds):
    made = claims(STUDY.cases_of("simulated", quick=True))
    claim = claim_named(made, "Always-FIFO, timeout 20 s: the outcomes of requests")
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
