"""The Connection Sentry's study: its comparisons, and the decisions on its claims."""

import pytest

from lab.analysis.published import published
from lab.studies.connection_sentry import measures
from lab.studies.connection_sentry.cases import (
    CLASSES,
    HEAVIEST,
    PAPER_PROFILE,
    SCALES,
    Cases,
    Cell,
)
from lab.studies.connection_sentry.claims import claims, wasted_work_claims
from lab.studies.connection_sentry.figures import SCHEMES
from lab.studies.connection_sentry.study import STUDY
from tests.lab.studies.small import repeated

WHOLE = Cases(SCALES["simulated"][False], "simulated")
LIVE = Cases(SCALES["live"][False], "live")
PAPER = published()["connection_sentry"]


def run(latency_s=1.0, answered=100, in_service=5.0, wasted_cpu_s=0.0):
    """Metrics of a run in which all classes are alike."""
    one = {"asked": answered, "answered": answered, "latency_s": latency_s}
    return {
        "measured_s": 1800.0,
        "classes": dict.fromkeys(CLASSES, one),
        "busy": {"in_service": in_service, "waiting": 0.0, "queue_s": 0.0},
        "waste": {"server_cpu_s": 100.0, "wasted_cpu_s": wasted_cpu_s, "unanswered_cpu_s": 1.0},
    }


def published_results(cases):
    """Return the paper's values as this project's results, three repetitions a per cent apart."""

    def metrics(tables, cell, i, near):
        latency, throughput = (
            {kind: figure(what, table, kind, cell)[i] for kind in CLASSES}
            for what, table in zip(("latency", "throughput"), tables, strict=True)
        )
        classes = {
            kind: {"asked": 1, "answered": throughput[kind], "latency_s": latency[kind] * near}
            for kind in CLASSES
        }
        alike = run(in_service=20.0 - 10 * i, wasted_cpu_s=40.0 * (1 - i))
        return {**alike, "classes": classes}

    return repeated(
        {
            cases.run(cell, mode).id: [metrics(tables, cell, i, n) for n in (0.99, 1.0, 1.01)]
            for tables, cells in (((1, 2), cases.by_patience()), ((3, 4), cases.by_clients()))
            for cell in cells
            for i, mode in enumerate("XS")
        }
    )


def figure(what, number, kind, cell):
    by, column = ("patience_s", cell.patience_max_s) if number < 3 else ("processes", cell.per_set)
    return PAPER[f"table{number}_{what}_by_{by}"][kind][f"{column:g}"]


def claim_named(cases, text):
    (claim,) = [claim for claim in claims(cases) if text in claim.text]
    return claim


def test_the_grid_is_the_papers():
    assert [cell.patience_max_s for cell in WHOLE.by_patience()] == PAPER["patience_s"]
    assert sorted(cell.per_set for cell in WHOLE.by_clients()) == PAPER["client_processes_per_set"]
    assert WHOLE.scale.duration_s == LIVE.scale.duration_s == 60 * PAPER["run_minutes"]
    assert LIVE.scale.repetitions == PAPER["runs_averaged"]
    # The heaviest cell belongs to all four tables and is made once.
    assert len(WHOLE.cells()) == 3 + 3 - 1 + 1


@pytest.mark.parametrize("cases", [WHOLE, LIVE])
def test_what_the_paper_printed_is_what_must_hold(cases):
    """Every claim that is made of the paper's own tables holds of them."""
    found = published_results(cases)
    decided = {claim.text: claim.decide(found)[1] for claim in claims(cases)}
    of_tables = [text for text in decided if "(Table" in text and "home gains" not in text]
    assert len(of_tables) >= 5
    assert {decided[text] for text in of_tables} == {True}
    assert decided[claim_named(cases, "of home is lower than that of search").text]


def test_published_and_reproduced_stand_side_by_side():
    found = published_results(WHOLE)
    first, second, _, third, *_ = STUDY.report(WHOLE).figures
    assert third.key == "paper-profile"
    latency, ratios, *_ = (table.table(found) for table in first.tables)
    by_class = {row[0]: row[1:] for row in latency.rows}
    assert by_class["search"][0].startswith("15.2 | 15.2 ± ")
    assert by_class["search"][1].startswith("12 | 12.0 ± ")
    assert {row[0]: row[1] for row in ratios.rows}["home"] == "0.12 | 0.12 ± 0.00"
    throughput = second.tables[2].table(found)
    assert {row[0]: row[6] for row in throughput.rows}["home"] == "226 | 226 ± 0"


@pytest.mark.parametrize(("wasted", "holds"), [(5.0, True), (5.1, False)])
def test_five_percent_of_the_cpu_may_be_wasted(wasted, holds):
    (claim,) = [one for one in wasted_work_claims(LIVE) if one.text.startswith(HEAVIEST.title)]
    found = repeated({LIVE.run(HEAVIEST, "S").id: [run(wasted_cpu_s=wasted)]})
    assert claim.decide(found)[1] is holds


def test_that_a_simulated_cancel_wastes_nothing_is_no_finding():
    assert len(wasted_work_claims(LIVE)) == len(wasted_work_claims(WHOLE)) + len(LIVE.cells())
    assert not [claim for claim in wasted_work_claims(WHOLE) if "CPU" in claim.text]


@pytest.mark.parametrize(
    ("completed", "confirms", "holds"),
    [(1500, 9, (True, True)), (1499, 10, (False, None)), (1500, 11, (True, False))],
)
def test_where_cancelling_helps_and_where_it_does_not(completed, confirms, holds):
    def shoppers(completed, confirms):
        return [{"attempts": {"completed": completed}, "outcomes": {"confirms": confirms}}]

    found = {}
    for scheme in SCHEMES:
        found[WHOLE.shoppers(scheme, "ignore").id] = shoppers(1000, 10)
        found[WHOLE.shoppers(scheme, "cancel").id] = shoppers(completed, confirms)
    *_, helps, loses = wasted_work_claims(WHOLE)
    assert (helps.decide(repeated(found))[1], loses.decide(repeated(found))[1]) == holds


def test_a_search_simulated_alone_takes_what_the_paper_measured_of_an_idle_server():
    case = WHOLE.run(HEAVIEST, "X")
    assert case.run.server.mean_execution_s["Br-1"] == 0.2
    mix = {"home": 0.25 * 0.2, "browse": 0.01 * 0.4, "search": 0.17 * 1.5, "select": 0.03 * 1.0}
    assert case.run.capacity_rps == pytest.approx(1 / (sum(mix.values()) + 0.54 * 0.1))


def test_throughput_of_a_short_run_is_given_for_30_minutes():
    short = {**run(answered=10), "measured_s": 100.0}
    assert measures.throughput("home")(short) == 180
    assert measures.whole_throughput(short) == 5 * 180


def test_a_page_weighs_as_often_as_it_is_asked_for():
    latencies = {"home": 1.0, "browse": 2.0, "search": 10.0, "select": None, "file": 99.0}
    metrics = run()
    metrics["classes"] = {kind: {"latency_s": s} for kind, s in latencies.items()}
    metrics["busy"] = {"queue_s": 1.0}
    expected = (25 * 1.0 + 1 * 2.0 + 17 * 10.0) / 43
    assert measures.page_latency_s(metrics) == pytest.approx(expected)
    assert measures.build_s(metrics) == pytest.approx(expected - 1.0)
    live = {**metrics, "tasks": {"home": {"build_s": 2.0}, "search": {"build_s": 4.0}}}
    assert measures.build_s(live) == pytest.approx((25 * 2.0 + 17 * 4.0) / 42)
    assert measures.build_s({**live, "tasks": {}}) is None


def test_cells_have_names_for_people():
    assert HEAVIEST.title == "9 clients per set, patience 7.5 s"
    assert PAPER_PROFILE.title.endswith("page profile paper")
    assert Cell(3, 10).short == "3, 10 s"
