import dataclasses
import json

import pyarrow.compute as pc
import pytest

from lab.analysis.cells import read_cells
from lab.analysis.verdict import conclude
from lab.analysis.warnings import honesty, is_warning
from lab.engines.capacity import Capacity, facts_of
from lab.errors import ExperimentError
from lab.files.documents import write_json
from lab.files.run_summary import LoadGenerator, RunSummary
from lab.report import paired_table, wasted_work
from lab.report.figures import draw_figures
from lab.report.tables import headline, table4, table5, write_tables
from lab.results.comparison import ComparisonResult
from lab.runner.comparison import plan
from lab.spec.experiment import Spec, changed, load_spec
from tests.lab.attempt_tables import RUSH, SHOPPERS, log_of, table
from tests.lab.engines.test_waste import METERED
from tests.lab.leaderboard.made_up import cell, outcomes

SPEC = changed(
    Spec(), policy=[{"name": "sq"}, {"name": "8q-lifo-pri"}], load__rho=[1.4], repetitions=2
)
ON_TIME = {"late_share": 0.0, "late_tolerance_s": 0.05, "max_behind_s": 0.01}


@pytest.fixture
def folder(tmp_path):
    """A finished comparison whose every run is RUSH."""
    return finished(tmp_path, SPEC, RUSH)


def finished(tmp_path, spec, attempts, waste=None):
    """A result folder whose every run is `attempts`; `waste` by the key of the policy."""
    measured = Capacity(5.0, (5.0,), "paper", 10.0, "here", "2026-11-21T05:00:00")
    capacity = facts_of(None if spec.clients else measured)
    made = ComparisonResult.create(tmp_path, spec, {"capacity": capacity}, plan(spec))
    for planned in plan(spec):
        run = made.run(planned)
        run.path.mkdir(parents=True)
        log_of(attempts).write(run.attempts_file)
        summary = {"seed": planned.seed, "reconciles": True, "checks": []}
        summary["load_generator"] = {"schedule": ON_TIME}
        if waste:
            summary["waste"] = waste[planned.policy]
        write_json(run.summary_file, summary)
    return made


def noted(run, **facts):
    """Add facts to the run's summary."""
    write_json(run.summary_file, {**run.summary().as_json(), **facts})


def test_published_stands_before_measured_per_24_000_sessions(folder):
    rows = {row[:3]: row[3:] for row in table4(read_cells(folder)).rows}
    # RUSH has 3 sessions, so one attempt counts 8,000; both repetitions agree: ± 0.
    assert rows["1.4", "8Q-LIFO-Pri", "Completed"] == (
        "30,851 | 32,000 ± 0", "187 | 8,000 ± 0", "127 | 8,000 ± 0", "87 | 8,000 ± 0",
        "50 | 8,000 ± 0",
    )  # fmt: skip
    # The paper prints SQ's generated requests as a total: so do we, in the same column.
    assert rows["1.4", "SQ", "Generated"][:2] == ("42,029 | 88,000 ± 0", "– | 8,000 ± 0")


def test_table_5_has_a_column_per_policy(folder):
    table = table5(read_cells(folder))
    assert table.header == ("", "ρ = 1.4 SQ", "ρ = 1.4 8Q-LIFO-Pri")
    assert table.rows[0] == ("Completed", "29.9 | 100.0 ± 0.0", "57.5 | 100.0 ± 0.0")
    names = [row[0] for row in table.rows]
    assert names[3:] == ["Not generated (left of 100)", "Never sent"]
    assert table.rows[3][1:] == ("22.8 | -37.5 ± 0.0", "16.8 | -37.5 ± 0.0")
    assert table.rows[4][1:] == ("– | 25.0 ± 0.0", "– | 25.0 ± 0.0")
    assert "Never sent is the percentage" in table.note


def test_the_headline_pools_confirms_over_repetitions(folder):
    rows = headline(read_cells(folder)).rows
    # One confirm of one planned per run, two runs; the server could have served all twelve pages.
    assert rows[0][:6] == ("1.4", "SQ", "66.7 ± 0.0", "2", "2", "1.00 ± 0.00")


def test_policies_are_compared_seed_by_seed(tmp_path):
    """Another seed's customers may sell more or less: only the differences by seed count."""
    folder = finished(tmp_path, SPEC, RUSH)
    worse = RUSH.filter(pc.not_equal(RUSH.column("page"), "Tr-4"))
    for planned in plan(SPEC):
        if planned.policy == "sq":
            log_of(worse).write(folder.run(planned).attempts_file)
    found = paired_table.table(folder.spec(), read_cells(folder))
    assert found.header == (
        "ρ", "Policy", "less", "Completed %", "Confirms", "Estimated", "Requests/s",
    )  # fmt: skip
    ((load, policy, first, *differences),) = found.rows
    assert (load, policy, first) == ("1.4", "8Q-LIFO-Pri", "SQ")
    assert differences[1] == "+1.0 ± 0.0 *"


@pytest.mark.parametrize(
    ("policies", "pairs"),
    [
        (("sq", "8q-af", "8q-lifo-pri"), 3),
        (("sq", "8q-af", "8q-lifo-pri", "door-lifo", "door-fifo"), 4),
    ],
)
def test_more_than_four_policies_are_compared_with_the_first_alone(tmp_path, policies, pairs):
    """Few policies are compared pair by pair; a table of all pairs of many would be too long."""
    folder = finished(tmp_path, changed(SPEC, policy=[{"name": one} for one in policies]), RUSH)
    found = paired_table.table(folder.spec(), read_cells(folder))
    assert len(found.rows) == pairs


def test_one_seed_or_one_policy_has_no_differences(tmp_path):
    for spec in (changed(SPEC, repetitions=1), changed(SPEC, policy=[{"name": "sq"}])):
        folder = finished(tmp_path / spec.fingerprint, spec, RUSH)
        assert paired_table.table(folder.spec(), read_cells(folder)) is None


def test_sessions_are_a_table_by_fate(tmp_path):
    guarded = changed(SPEC, policy=[{"name": "sq", "admission": a} for a in ("none", "sbac")])
    folder = finished(tmp_path, guarded, SHOPPERS)
    tables = write_tables(folder, read_cells(folder))
    assert [table.title.split(":")[0] for table in tables] == [
        "Who sells", "Differences by seed", "Sessions", "Table 4", "Table 5",
    ]  # fmt: skip
    assert tables[2].rows[1] == (
        "1.4", "SQ + SBAC", "5 ± 0", "40.0 ± 0.0", "20.0 ± 0.0", "20.0 ± 0.0", "20.0 ± 0.0",
        "66.7 ± 0.0", "1.5 ± 0.0", "0.50 ± 0.00", "75.0 ± 0.0",
    )  # fmt: skip

    lengths = changed(SPEC, customers__lengths={"mean": 2})
    folder = finished(tmp_path, lengths, SHOPPERS)
    tables = write_tables(folder, read_cells(folder))
    assert [table.title for table in tables] == [
        "Sessions",
        "Differences by seed",
        "Requests, in % of all planned requests",
    ]  # fmt: skip


def metered(**figures):
    """A block `waste` of run.json."""
    return dict.fromkeys((*METERED, "withdrawn"), 0) | {"server_cpu_s": 200.0} | figures


LEAVERS = changed(
    SPEC, policy=[{"name": "8q-lifo-pri"}, {"name": "8q-lifo-pri", "abandonment": "cancel"}]
)
IGNORED = metered(wasted_cpu_s=50.0, disconnects=20, finished=20)
CANCELLED = metered(wasted_cpu_s=2.0, disconnects=10, interrupted=10, withdrawn=7)


def test_wasted_work_stands_beside_what_cancelling_does(tmp_path):
    waste = {"8q-lifo-pri": IGNORED, "8q-lifo-pri+cancel": CANCELLED}
    folder = finished(tmp_path, LEAVERS, RUSH, waste)
    cells = read_cells(folder)
    assert [cell.published for cell in cells] == ["8q-lifo-pri", None]
    found = {table.title.split(":")[0]: table for table in write_tables(folder, cells)}
    assert list(found) == [
        "Who sells", "Differences by seed", "Sessions", "Wasted work", "Table 4", "Table 5",
    ]  # fmt: skip
    rows = {row[0]: row[1:] for row in found["Wasted work"].rows}
    assert rows["Abandonment"] == ("ignore", "cancel")
    assert rows["CPU wasted, %"] == ("25.0 ± 0.0", "1.0 ± 0.0")
    assert rows["Withdrawn from queues"] == ("0 ± 0", "7 ± 0")
    assert rows["Completed requests"] == ("8 ± 0", "8 ± 0")
    assert rows["Confirms"] == ("1 ± 0", "1 ± 0")
    note = found["Wasted work"].note
    assert (
        "8Q-LIFO-Pri + cancel at ρ = 1.4, compared with ignoring that customers leave: 1.00 times"
        in note
    )
    assert "N × U" not in note  # nothing was lost that would need explaining


@pytest.mark.parametrize(
    ("before", "after", "clearly"),
    [(633, 411, True), (9, 1, True), (13, 12, False), (1, 0, False), (4, 9, False)],
)
def test_a_few_confirms_more_or_less_are_chance(before, after, clearly):
    assert wasted_work.fell_clearly(before, after) is clearly


def test_confirms_that_cancelling_costs_are_said_and_if_clear_with_the_reason(
    tmp_path, monkeypatch
):
    waste = {"8q-lifo-pri": IGNORED, "8q-lifo-pri+cancel": CANCELLED}
    folder = finished(tmp_path, LEAVERS, RUSH, waste)
    lost = log_of(RUSH, Tr_4="timed_out")
    for planned in plan(LEAVERS):
        if planned.policy == "8q-lifo-pri+cancel":
            lost.write(folder.run(planned).attempts_file)
    for is_clear in (False, True):
        monkeypatch.setattr(wasted_work, "fell_clearly", lambda before, after, it=is_clear: it)
        tables = write_tables(folder, read_cells(folder))
        (note,) = [table.note for table in tables if table.title == "Wasted work"]
        assert "0.0 confirms per run instead of 1.0" in note
        assert ("N × U" in note) is is_clear


def test_where_nobody_left_nothing_is_said_of_waste(tmp_path):
    waste = dict.fromkeys(("sq", "8q-lifo-pri"), metered())
    folder = finished(tmp_path, SPEC, RUSH, waste)
    assert "Wasted work" not in [table.title for table in write_tables(folder, read_cells(folder))]
    # A simulation without a database has no rows for it.
    unknown = dict.fromkeys(METERED) | IGNORED
    unknown |= {"wasted_database_s": None, "cancels_attempted": None}
    folder = finished(tmp_path / "b", SPEC, RUSH, dict.fromkeys(waste, unknown))
    (wasted,) = [t for t in write_tables(folder, read_cells(folder)) if t.title == "Wasted work"]
    assert "Database wasted, s" not in [row[0] for row in wasted.rows]
    assert "CPU wasted, s" in [row[0] for row in wasted.rows]


OUTAGE = {"back_end": "postgres", "from_s": 3.2, "until_s": 9.9, "requests": 4}


@pytest.mark.parametrize(
    ("facts", "begin", "words"),
    [
        ({"outages": [OUTAGE]}, "AWAY", "PostgreSQL was unavailable from 3 s to 10 s: 4 requests"),
        ({"traced_ratio": 0.1}, "TRACED", "the traces of 10 % of the requests were exported"),
        ({"samples_missed": 2}, "SAMPLES MISSING", "for 2 of the run's samples"),
    ],
)
def test_what_disturbed_a_run_is_said(folder, facts, begin, words):
    assert not any(line.startswith(begin) for line in honesty(read_cells(folder)))
    _, run = folder.whole_runs()[0]
    noted(run, **facts)
    [said] = [line for line in honesty(read_cells(folder)) if line.startswith(begin)]
    assert words in said
    assert is_warning(said)


@pytest.mark.parametrize(
    ("engine", "advice"), [(None, "make capacity"), ("simulated", "open an issue")]
)
def test_more_sales_than_the_bound_are_a_warning_with_advice(engine, advice):
    """A live shop has a new capacity to measure, a simulated shop has not."""
    measured = cell("sq", 1.4, 1.0)
    summary = RunSummary(seed=1, load_generator=LoadGenerator(engine=engine))
    above = dataclasses.replace(
        measured, runs=(outcomes(1.0, 1.4, confirms=100),), summaries=(summary,)
    )
    begin = "MORE THAN THE BOUND: SQ at ρ = 1.4 confirmed 100 where 19 are possible"
    [said] = [line for line in honesty([above]) if line.startswith(begin)]
    assert advice in said
    assert not any(line.startswith("MORE THAN THE BOUND") for line in honesty([measured]))


IN_A_LOOP = Spec(
    policy=[{"name": "sq"}, {"name": "sq", "abandonment": "cancel"}],
    clients={"per_set": 1},
    load={"duration_s": 60},
    warm_up_s=2,
    repetitions=2,
)


def test_clients_have_a_table_by_class_and_set(tmp_path):
    attempts = table(
        (0, 0, "Br-1", 1, 1.0, 0.5, "completed"),  # in the warm-up
        (0, 1, "Br-3", 1, 3.0, 4.0, "completed"),
        (1, 0, "file", 1, 2.0, 3.0, "timed_out"),
    )
    folder = finished(tmp_path, IN_A_LOOP, attempts)
    (found,) = write_tables(folder, read_cells(folder))
    nothing = ("none", "none")
    assert found.rows == [
        (policy, *row)
        for policy in ("SQ", "SQ + cancel")
        for row in (
            ("control", "search", "1 ± 0", "4.00 ± 0.00", "4.00 ± 0.00", "0 ± 0", "0 ± 0"),
            ("test", "file", "0 ± 0", *nothing, "1 ± 0", "0 ± 0"),
        )
    ]
    assert draw_figures(folder, read_cells(folder)) == []
    text = (folder.path / "tables.md").read_text(encoding="utf-8")
    assert text.startswith("# Comparison\n")
    assert "60 s of clients in a closed loop" in text
    assert "No capacity was measured" in text
    assert not any("ρ" in line for line in honesty(read_cells(folder)))


def test_the_heading_says_the_loads_that_were_run(tmp_path):
    spec = changed(load_spec("lifo-pri"), load__rho=[0.9, 2.0])
    folder = finished(tmp_path, spec, RUSH)
    assert folder.path.name.endswith("-lifo-pri-tables-4-and-5-at-0.9-2")
    write_tables(folder, read_cells(folder))
    text = (folder.path / "tables.md").read_text(encoding="utf-8")
    assert text.startswith("# LIFO-Pri, Tables 4 and 5 at ρ = 0.9, 2\n")


def test_published_figures_stand_only_beside_what_they_are_about(tmp_path):
    guarded = changed(SPEC, policy=[{"name": "sq", "admission": a} for a in ("none", "sbac")])
    cells = read_cells(finished(tmp_path, guarded, RUSH))
    assert [cell.published for cell in cells] == ["sq", None]
    assert table5(cells).rows[0] == ("Completed", "29.9 | 100.0 ± 0.0", "– | 100.0 ± 0.0")
    # What is said of the paper's comparison needs the policies that it compares.
    assert not any("footnote 2" in line for line in honesty(cells))
    both = changed(SPEC, policy=[{"name": name} for name in ("sq", "8q-lifo-pri")])
    compared = read_cells(finished(tmp_path / "both", both, RUSH))
    assert any("footnote 2" in line for line in honesty(compared))
    heavier = read_cells(finished(tmp_path / "heavier", changed(both, load__rho=[2.0]), RUSH))
    assert not any("footnote 2" in line for line in honesty(heavier))  # nothing is published of it
    for changes in (
        {"customers__lengths": {"mean": 2}},
        {"customers__timeout_s": 9},
        {"page_profile": "cpu"},
        {"abandonment": "cancel"},
        {"policy": [{"name": "sq", "parameters": {"capacity": 50}}]},
    ):
        cells = read_cells(finished(tmp_path, changed(SPEC, **changes), RUSH))
        assert {cell.published for cell in cells} == {None}
        assert "published" not in table4(cells).title
        assert "|" not in table4(cells).rows[0][3]
        assert not any("footnote 2" in line for line in honesty(cells))


def test_only_complete_runs_count(folder):
    folder.run(plan(SPEC)[0]).summary_file.unlink()
    cells = read_cells(folder)
    assert sorted(len(cell.runs) for cell in cells) == [1, 2]


def test_a_warm_up_that_leaves_nothing_is_an_error_for_people(tmp_path):
    folder = finished(tmp_path, changed(SPEC, warm_up_s=1000), RUSH)
    with pytest.raises(ExperimentError, match="warm_up_s: 1000: "):
        read_cells(folder)


def test_what_is_not_true_is_said(folder):
    cells = read_cells(folder)
    assert [line.split(":")[0] for line in honesty(cells)[:1]] == ["TOO FEW SALES"]
    assert [line.split()[0] for line in honesty(cells)[1:]] == ["Counts", "The", "Compare"]
    first = folder.run(plan(SPEC)[0]).summary_file
    summary = json.loads(first.read_text())
    check = {"statement": "orders", "value": 3, "low": 1, "high": 2, "holds": False}
    summary |= {"reconciles": False, "checks": [check]}
    summary["load_generator"]["schedule"] = {**ON_TIME, "late_share": 0.2}
    write_json(first, summary)
    lines = honesty(read_cells(folder))
    assert any(
        "DO NOT RECONCILE" in line and "orders: 3, should be 1 to 2" in line for line in lines
    )
    assert any("FELL BEHIND" in line and "20.0 %" in line for line in lines)


TOGETHER = {"of": 2, "apart_s": 0.01, "shops": [[3], [2]], "rest": [0, 1], "crowded": False,
            "shops_rps": [5.1, 5.0]}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "2 shops ran at the same time on the CPUs 3; 2; all other programs ran on 0,1."),
        ({"crowded": True}, "CROWDED: the shops shared CPUs"),
        ({"apart_s": 0.5}, "OUT OF STEP: the customers of one shop began 0.50 real seconds later"),
        ({"shops_rps": [5.0, 4.0]}, "SHOPS DIFFER: in a simultaneous measurement, the shops serve"),
    ],
)  # fmt: skip
def test_of_runs_at_once_it_is_said_where_they_ran(folder, facts, said):
    for planned in plan(SPEC):
        noted(folder.run(planned), at_once={"shop": 1, **TOGETHER, **facts})
    lines = honesty(read_cells(folder))
    assert any(line.startswith(said) for line in lines)
    warned = {line.split(":")[0] for line in lines} - {"TOO FEW SALES"}
    assert sum(word.isupper() for word in warned) == bool(facts)


def test_tables_and_figures_are_files(folder):
    cells = read_cells(folder)
    tables = write_tables(folder, cells)
    text = (folder.path / "tables.md").read_text(encoding="utf-8")
    assert "4 of 4 runs, 1000 sessions each" in text
    assert all(table.title in text for table in tables)
    conclusion = folder.conclusion()
    assert conclusion == conclude(SPEC, cells)
    assert conclusion.verdict
    assert all(f"> {sentence}\n" in text for sentence in conclusion.sentences)
    assert all(f"- {line}\n" in text for line in conclusion.lines)
    kept = json.loads((folder.path / "tables.json").read_text())
    assert [table["title"] for table in kept] == [table.title for table in tables]
    for png in draw_figures(folder, cells):
        assert png.read_bytes().startswith(b"\x89PNG")
        assert png.with_name(png.name.removesuffix(".png") + ".svg").is_file()
    drawn = (folder.figures / "ccdf-br1-rho1.4.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in drawn


def test_what_shadows_said_is_a_table_of_shares(tmp_path):
    made = finished(tmp_path, changed(SPEC, shadows=["door-lifo"]), RUSH)
    for planned in plan(SPEC):
        same = 8 if planned.policy == "sq" else 6
        verdicts = dict.fromkeys(("earlier", "later", "would_serve", "would_lose", "absent"), 0)
        said = {"same": same, "would_refuse": 10 - same} | verdicts
        shadow = {"name": "door-lifo", "asked": 10, "verdicts": said}
        noted(made.run(planned), shadows=[shadow])
    tables = write_tables(made, read_cells(made))
    (found,) = [table for table in tables if table.title == "Decisions of other policies"]
    rows = {row[0]: row[1:] for row in found.rows}
    assert rows["DOOR-LIFO: agrees, %"] == ("80.0 ± 0.0", "60.0 ± 0.0")
    assert rows["DOOR-LIFO: would have refused, %"] == ("20.0 ± 0.0", "40.0 ± 0.0")
    assert rows["DOOR-LIFO: would have served later, %"] == ("0.0 ± 0.0", "0.0 ± 0.0")


def warnings(**figures):
    """Return the warnings about a run of 4,000 sessions, 100 of which plan to buy, at ρ = 2."""
    made = dataclasses.replace(outcomes(0.9, 2.0), planned={"Br-1": 4000, "Tr-4": 100}, **figures)
    alone = dataclasses.replace(cell("sq", 2.0, 0.9), runs=(made,))
    quiet = RunSummary(seed=1, load_generator=LoadGenerator(engine="simulated"))
    return [
        line.split(":")[0]
        for line in honesty([dataclasses.replace(alone, summaries=(quiet,))])
        if line.split(":")[0].isupper()
    ]


@pytest.mark.parametrize(
    ("confirms", "reachable", "lasting", "undisturbed", "said"),
    [
        (50, 0.5, 0.45, 0.1, []),
        (60, 0.5, 0.45, 0.9, []),  # chance
        (80, 0.5, 0.45, 0.1, ["MORE THAN THE BOUND"]),
        (80, 0.9, 0.45, 0.9, ["TOO SHORT"]),
        (80, 0.9, 0.45, 0.1, []),  # the queues were full, and the server worked on after the end
        (20, 0.25, 0.25, 0.1, ["TOO FEW SALES"]),
    ],
)
def test_warnings_are_given_where_something_is_wrong(
    confirms, reachable, lasting, undisturbed, said
):
    """More than can be, a rush that ended too soon, too few sales to count."""
    assert said == warnings(
        confirms=confirms,
        reachable_ratio=reachable,
        lasting_ratio=lasting,
        undisturbed_ratio=undisturbed,
    )
