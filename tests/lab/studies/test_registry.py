"""The rules of every paper's study: its plan, and the sources of its report."""

from importlib import import_module

import pytest

from lab.engines.simulated.run import scenario_of
from lab.results.metrics import Results
from lab.results.study import plan
from lab.runner import comparison
from lab.spec.runs import PlatformRun
from lab.studies.measures import measure_of
from lab.studies.registry import PAPERS

SIMULATED = [name for name, paper in PAPERS.items() if "simulated" in paper.engines]
ON_THE_APPLIANCE = ("lifo-pri", "sbac", "connection-sentry")
FIGURES = {
    "ad-server": {"figure-5", "figure-8", "figures-6-and-7", "table-3", "table-4", "alone"},
    "connection-sentry": {
        *("tables-1-and-2", "tables-3-and-4", "figure-7"),
        *("paper-profile", "wasted-work", "no-help"),
    },
    "edragon": {"zones", *(f"figure-{i}" for i in (1, *range(4, 12)))},
    "lifo-pri": {"table-1", "tables-4-and-5", *(f"figure-{i}" for i in range(3, 9))},
    "sbac": {"figure-11-50s", "figure-11-500s", *(f"figure-{i}" for i in range(2, 11))},
}


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("quick", [True, False])
def test_the_plan_has_every_figure_and_no_case_twice(paper, quick):
    study = PAPERS[paper].build(quick=quick)
    assert FIGURES[paper] <= {figure.key for figure in study.figures}
    planned = plan(study.cases(), seed=1, repetitions=2)
    assert len({simulation.name for simulation in planned}) == len(planned)
    # Figures share their cases: far fewer are simulated than are drawn.
    assert len(planned) // 2 < len(list(study.cases()))


@pytest.mark.parametrize("paper", SIMULATED)
def test_every_case_can_be_simulated(paper):
    cases = {case.id: case for case in PAPERS[paper].build("simulated", quick=True).cases()}
    for case in cases.values():
        assert measure_of(case.measure)
        if not isinstance(case.run, PlatformRun):  # the measure has its own
            assert scenario_of(case.run, 1)


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_need_only_what_is_simulated_and_wait_for_it(paper):
    for claim in PAPERS[paper].build(quick=True).claims:
        assert claim.decide(Results({})) == ("no runs yet", None)


@pytest.mark.parametrize("paper", ON_THE_APPLIANCE)
def test_every_live_run_is_a_case_of_its_study(paper):
    known = PAPERS[paper]
    cases = known.cases_of("live", quick=True)
    study = known.report(cases)
    parts = import_module(f"{known.package}.live").parts(cases, 1, 1)
    drawn = {case.id: case for case in study.cases()}
    made = {part.case_of(run).id for part in parts for run in comparison.plan(part.spec)}
    assert made <= drawn.keys()
    # What no run gives can be simulated beside them.
    for case in (drawn[id] for id in drawn.keys() - made):
        scenario_of(case.run, 1)
    assert paper == "connection-sentry" or made == drawn.keys()


def test_a_paper_says_where_it_is_reproduced_and_how_often():
    live = {name for name, paper in PAPERS.items() if paper.default_engine == "live"}
    assert live == {"connection-sentry", "ad-server"}
    # Intervals need two repetitions at least.
    counts = PAPERS["connection-sentry"].repetitions
    assert min(counts(e, quick=q) for e in ("simulated", "live") for q in (True, False)) > 1
    assert PAPERS["sbac"].repetitions("live", quick=True) == 1
