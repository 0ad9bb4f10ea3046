"""eDragon's study: its schedule and zones, and how its claims are decided on given data."""

import json

import pytest

from lab.analysis.published import published
from lab.report.charts import draw
from lab.spec.cases import Case
from lab.spec.runs import PlatformRun
from lab.studies.edragon import cases, claims, measures
from lab.studies.edragon.cases import (
    ARRANGEMENTS,
    EQUAL,
    LINUX,
    MANAGED,
    ORIGINAL,
    SELF_MANAGED,
    STATIC,
    TO_HIGH,
    TWO_TO_ONE,
    Cases,
    Range,
    Zone,
)
from lab.studies.edragon.figures import Figures
from lab.studies.edragon.study import STUDY
from tests.lab.studies.small import repeated

WHOLE = STUDY.cases_of("simulated", quick=False)
FIGURES = Figures(WHOLE, STUDY.text(WHOLE))
PAPER = published()["edragon"]
BIN_S = 30.0


def claim_named(text, cases=WHOLE):
    (claim,) = [claim for claim in claims.claims(cases) if text in claim.text]
    return claim


def application(replies=0, **changes):
    fates = dict.fromkeys(("sessions", "completed", "refused", "timed_out"), 0)
    return {"replies": replies, **fates, "response_p95_s": 1.0, "processors": 1.0, **changes}


def run(*applications, duration_s=600.0):
    return {"duration_s": duration_s, "bin_s": BIN_S, "applications": list(applications)}


def over_zones(value_of):
    """A series over the 90 minutes: `value_of(zone)` within a zone, 0 elsewhere."""
    found = []
    for i in range(round(cases.RUN_S / BIN_S)):
        inside = [zone for zone in cases.ZONES if zone.from_s <= i * BIN_S < zone.until_s]
        found.append(value_of(inside[0].name) if inside else 0.0)
    return found


def zoned(processors=lambda zone, i: 0.0, replies_ps=lambda zone, i: 0.0):
    """Metrics of a run over the zones; both are called with a zone's name and an application."""
    return run(
        *(
            application(
                series={
                    "processors": over_zones(lambda zone, i=i: processors(zone, i)),
                    "replies_ps": over_zones(lambda zone, i=i: replies_ps(zone, i)),
                    "sessions_ps": [],
                }
            )
            for i in (0, 1)
        ),
        duration_s=cases.RUN_S,
    )


def test_the_schedule_is_within_the_papers_text():
    total = {zone.name: sum(cases.WHOLE.load_at(zone.from_s)) for zone in cases.ZONES}
    # “Not overloaded” up to 3 new sessions/s, “completely overloaded” from 8 on (section 5.2).
    assert total["A"] <= 3
    assert total["C"] <= 3
    assert 3 < total["B"] < 8
    assert 3 < total["D"] < 8
    assert total["E"] >= 8
    assert list(cases.WHOLE.load_at(1800)) == PAPER["zone_b"]["load"]
    assert list(cases.WHOLE.load_at(4199)) == PAPER["zone_d"]["load"]
    assert len(set(cases.WHOLE.load_at(4200))) == 1  # “the same for Tomcat 1 and Tomcat 2”
    for between_s in (1500, 3300, 5000):  # “the rest of the time … overloaded”
        assert 3 < sum(cases.WHOLE.load_at(between_s)) < 8


def test_a_short_course_has_the_same_zones_and_loads():
    short = cases.shortened(3)
    assert short.run_s == cases.RUN_S / 3
    for zone in cases.ZONES:
        again = short.zone(zone.name)
        assert (again.until_s - again.from_s) * 3 == pytest.approx(zone.until_s - zone.from_s)
        assert short.load_at(again.from_s) == cases.WHOLE.load_at(zone.from_s)


@pytest.mark.parametrize(
    ("series", "zone", "mean"),
    [
        ([1, 2, 3, 4], Zone("x", 0, 60), 1.5),
        ([1, 2, 3, 4], Zone("x", 60, 120), 3.5),
        ([1, 2, 3, 4], Zone("x", 90, 600), 4.0),
        ([1, 2, 3, 4], Zone("x", 120, 180), None),
    ],
)
def test_the_mean_over_a_zone_is_that_of_its_bins(series, zone, mean):
    assert cases.mean_over(series, BIN_S, zone) == mean


@pytest.mark.parametrize(
    ("arrangement", "zone", "i", "found"),
    [
        (EQUAL, "B", 0, Range(3.5, 3.5)),
        (EQUAL, "D", 0, Range(0.5, 1.5)),
        (TO_HIGH, "E", 0, None),
        (STATIC, "E", 0, None),
    ],
)
def test_published_processors_are_read_as_values_and_ranges(arrangement, zone, i, found):
    assert cases.published_processors(arrangement.key, zone, i) == found


def test_on_two_processors_half_as_many_are_expected():
    two = Cases(cases.Scale((1.0,), 60.0, cases.WHOLE, 1, processors=2))
    assert two.processors_range(EQUAL, "D", 1) == Range(1.25, 1.75)


def test_cases_survive_json_and_differ_where_they_should():
    made = [WHOLE.two(each) for each in ARRANGEMENTS]
    made += [WHOLE.one(server, load) for server in (ORIGINAL, SELF_MANAGED) for load in (1.0, 2.0)]
    assert len({case.id for case in made}) == len(made)
    for case in made:
        again = Case.of_json(json.loads(json.dumps(case.as_json())))
        assert again.id == case.id
        assert again == case
    assert {WHOLE.two(each).run.provisioning for each in ARRANGEMENTS} == {"static", "linux", "ecm"}
    assert WHOLE.two(TO_HIGH).run.sharing == "to-high"
    assert WHOLE.two(TWO_TO_ONE).run.priorities == (2.0, 1.0)


def test_sessions_expected_of_a_schedule():
    case = PlatformRun((((0.0, 1.0), (100.0, 3.0)), ((0.0, 2.0),)), 200.0, 4, 3.0)
    assert case.expected_sessions(0) == 100 + 300
    assert case.expected_sessions(1) == 400
    half = case.shortened(0.5)
    assert (half.duration_s, half.expected_sessions(0)) == (100.0, 200)


@pytest.mark.parametrize(
    ("server", "last", "holds"),
    [
        (SELF_MANAGED, 90.0, True),
        (SELF_MANAGED, 89.9, False),
        (ORIGINAL, 70.0, True),
        (ORIGINAL, 70.1, False),
    ],
)
def test_full_overload_is_compared_with_the_servers_own_maximum(server, last, holds):
    loads = WHOLE.scale.loads
    middle = loads[len(loads) // 2]
    throughput = dict.fromkeys(loads, 50.0) | {middle: 100.0, loads[-1]: last}
    found = repeated(
        {
            WHOLE.one(server, load).id: [run(application(replies=600 * throughput[load]))] * 2
            for load in loads
        }
    )
    text, held = claim_named(f"Fully overloaded, the {server} server").decide(found)
    assert held is holds
    assert text == f"{last:.1f} ± 0.0 %"
    table = FIGURES.figure_4().tables[0].table(found)
    published_share = {SELF_MANAGED: "100", ORIGINAL: "35"}[server]
    assert (server, f"{published_share} | {last:.1f} ± 0.0") in table.rows


@pytest.mark.parametrize(
    ("arrangement", "zone", "i", "found", "holds"),
    [
        (EQUAL, "B", 0, 3.0, True),
        (EQUAL, "B", 0, 2.99, False),
        (EQUAL, "D", 0, 2.0, True),
        (TWO_TO_ONE, "E", 0, 3.51, False),
    ],
)
def test_an_assignment_may_be_half_a_processor_off(arrangement, zone, i, found, holds):
    metrics = zoned(processors=lambda name, k: found if (name, k) == (zone, i) else 0.0)
    claim = claim_named(f"{arrangement.title}, zone {zone}: processors of {cases.APPLICATIONS[i]}")
    results = repeated({WHOLE.two(arrangement).id: [metrics]})
    assert claim.decide(results)[1] is holds


@pytest.mark.parametrize(
    ("refused", "holds"),
    [((300, 310), True), ((20, 21), False), ((90, 300), None), ((200,), True), ((100,), None)],
)
def test_of_refused_and_timed_out_the_difference_decides(refused, holds):
    case = WHOLE.one(SELF_MANAGED, WHOLE.scale.loads[-1])
    runs = [run(application(refused=each, timed_out=100)) for each in refused]
    claim = claim_named("the self-managed server refuses the surplus sessions")
    text, held = claim.decide(repeated({case.id: runs}))
    assert held is holds
    assert "difference" in text


def published_middle(arrangement):
    def value(zone, i):
        theirs = cases.published_processors(arrangement.key, zone, i)
        return (theirs.low + theirs.high) / 2 if theirs else 0.0

    return value


def test_every_printed_assignment_is_claimed_and_what_was_printed_holds(tmp_path):
    results = repeated(
        {WHOLE.two(each).id: [zoned(processors=published_middle(each))] for each in MANAGED}
    )
    assigned = [claim for claim in claims.claims(WHOLE) if "processors of" in claim.text]
    # Zones B and D under three arrangements, zone E under two, of two applications.
    assert len(assigned) == (3 + 3 + 2) * 2
    assert {claim.decide(results)[1] for claim in assigned} == {True}
    svg = draw(FIGURES.over_time(EQUAL), results, tmp_path, "three applications")
    assert svg.name == "figure-9.svg"
    processors, _ = FIGURES.zones().tables
    rows = {row[:2]: row[2:] for row in processors.table(results).rows}
    assert rows["D", "Tomcat 1"] == ("2.25", "0.5 to 1.5 | 1.00", "1.5 to 2.5 | 2.00", "3 | 3.00")
    assert rows["A", "Tomcat 1"][1] == "– | 0.00"


@pytest.mark.parametrize(("blind", "holds"), [(55, True), (114, True), (116, False)])
def test_blind_admission_must_be_worse_where_both_are_overloaded(blind, holds):
    def in_e(value):
        return zoned(replies_ps=lambda zone, i: float(value) if zone == "E" else 500.0)

    results = repeated(
        {WHOLE.two(EQUAL).id: [in_e(115)] * 2, WHOLE.two(LINUX).id: [in_e(blind)] * 2}
    )
    claim = claim_named(f"(blind admission) than with “{EQUAL.title}”")
    assert claim.decide(results)[1] is holds


def test_figures_of_merit_add_up_over_applications():
    metrics = run(
        application(replies=1200, refused=3, timed_out=2, processors=2.5),
        application(replies=600, refused=1, response_p95_s=None),
    )
    assert measures.throughput_ps(metrics) == 3.0
    assert measures.unattended(metrics) == 6.0
    assert measures.processors(metrics) == 2.5
    assert measures.response_p95_s(metrics) == 1.0


@pytest.mark.parametrize("arrangement", [STATIC, LINUX, *MANAGED])
def test_every_figure_over_time_shows_the_zones_and_what_was_printed(arrangement):
    (figure,) = [
        each for each in STUDY.report(WHOLE).figures if each.key == f"figure-{arrangement.figure}"
    ]
    assert figure.stacked
    panels = [panel for panel in figure.panels if arrangement.title in panel.title]
    for panel in panels:
        assert [stretch.name for stretch in panel.stretches] == list("ABCDE")
        for level in panel.levels:
            i = cases.APPLICATIONS.index(level.label)
            (zone,) = [z for z in cases.ZONES if z.from_s == level.from_x]
            theirs = cases.published_replies_ps(arrangement.key, zone.name, i)
            assert (level.low, level.high) == (theirs, theirs)
