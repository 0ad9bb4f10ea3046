"""Races: made from their page, with synchronous courses, from runs that allow it."""

import json
import re
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lab.results.comparison import ComparisonResult
from lab.spec.shop_cpus import most_shops
from runtime.settings import load
from tests.waiting import until

pytestmark = pytest.mark.slow


FORM = {"policies": ["sq", "8q-af", "8q-lifo-pri"], "rho": "1.6", "sessions": "300", "seed": "7"}


@pytest.fixture(scope="module")
def race(console):
    """The name of a result of three policies, made from the race page."""
    console.start_workers()
    answer = console.post("/race/", FORM)
    assert "/race/waiting/" in answer.url, answer.text
    until(lambda: "/race/?result=" in console.session.get(answer.url).url, "the race")
    return console.session.get(answer.url).url.partition("result=")[2]


def test_a_race_lands_on_its_runs(console, race):
    page = console.get(f"/race/?result={race}").text
    titles = re.findall(r'data-title="([^"]+)"', page)
    assert titles == ["SQ", "8Q-AF", "8Q-LIFO-Pri"]  # of the spec; the runs' order is random
    spec = ComparisonResult(console.results / race).spec()
    assert (spec.engine, spec.seed, spec.load.sessions) == ("simulated", 7, 300)
    assert race in console.get("/race/").text


def test_runs_count_from_the_start_to_the_very_end(console, race):
    for planned, run in ComparisonResult(console.results / race).whole_runs():
        frames = console.get(f"/race/lanes/{race}/{planned.folder}.json").json()
        samples = run.samples().to_pydict()
        assert frames["time_s"][-1] == samples["time_s"][-1]
        assert frames["confirms_total"][0] == 0
        assert frames["confirms_total"][-1] == run.summary().confirms
        assert len(frames["waiting_by_page"]) == 8
        assert frames["marks"] == []


def test_runs_are_chosen(console, race):
    folders = [
        planned.folder
        for planned, _ in ComparisonResult(console.results / race).whole_runs()
        if planned.policy != "8q-af"
    ]
    chosen = "&".join(f"lane={folder}" for folder in folders)
    page = console.get(f"/race/?result={race}&{chosen}").text
    assert sorted(re.findall(r'data-run="([^"]+)"', page)) == sorted(folders)
    one = console.get(f"/race/?result={race}&lane={folders[0]}")
    assert one.status_code == 400
    assert "Choose 2 to 4 runs; you chose 1." in one.text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("policies", [], "Choose 2 to 4 policies; you chose 0."),
        ("policies", ["sq"], "Choose 2 to 4 policies; you chose 1."),
        (
            "policies",
            ["sq", "8q-af", "8q-lifo-pri", "always-fifo", "always-lifo"],
            "Choose 2 to 4 policies; you chose 5.",
        ),
        ("policies", ["sq", "best"], "Policies, 2 to 4: “best” is not in the list"),
        ("rho", "0", "Offered load ρ must be between 0.1 and 5."),
        ("rho", "nan", "Offered load ρ must be a number."),
        ("sessions", "", "Sessions is required."),
        ("sessions", "1000000", "Sessions must be between 100 and 24,000."),
        ("seed", "-1", "Seed must be between 0 and"),
    ],
)
def test_what_cannot_be_raced_is_said_at_its_field(console, field, value, said):
    before = console.get("/launches/table").text.count("<tr>")
    answer = console.post("/race/", {**FORM, field: value})
    assert answer.status_code == 400
    assert said in answer.text
    assert console.get("/launches/table").text.count("<tr>") == before


def test_a_race_that_fails_says_so_where_it_is_waited_for(console):
    answer = console.post("/race/", {**FORM, "sessions": "24000", "rho": "3"})
    launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
    console.post(f"/launches/{launch}/cancel")
    console.wait_until(launch, "cancelled", "done")
    if console.state_of(launch) == "cancelled":
        assert "cancelled" in console.get(f"/race/waiting/{launch}/").text


@pytest.mark.parametrize("path", ["/race/lanes/x/y.json", "/race/waiting/0000000000/"])
def test_what_is_not_there(console, path):
    assert console.get(path).status_code == 404


SPEC = """version = 1
title = "Two that were live"
engine = "{engine}"
[[policy]]
name = "sq"
[[policy]]
name = "8q-af"
[load]
rho = [1.4]
sessions = 10
"""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def made(console, name, *, engine="live", rho=1.4, came_after_s=1.5, ends=(40.0, 60.0)):
    """A result of two runs as an experiment leaves it."""
    folder = console.results / name
    plan = [
        {"number": number, "policy": policy, "rho": rho, "seed": 1}
        for number, policy in enumerate(("8q-af", "sq"), start=1)
    ]
    folder.mkdir(parents=True)
    (folder / "spec.toml").write_text(SPEC.format(engine=engine))
    (folder / "plan.json").write_text(json.dumps(plan))
    for (planned, run), end_s in zip(
        [(p, ComparisonResult(folder).run(p)) for p in ComparisonResult(folder).plan()],
        ends,
        strict=True,
    ):
        run.path.mkdir(parents=True)
        times = [10.0 * step for step in range(int(end_s / 10) + 1)]
        _samples(run.samples_file, times)
        run.events_file.write_text("".join(json.dumps(e) + "\n" for e in _events()))
        came_at = (BEGAN + timedelta(seconds=came_after_s)).timestamp()
        summary = {"confirms": 1, "policy": planned.policy, "load_generator": {}}
        if engine == "live":
            summary["load_generator"]["started_at"] = came_at
        run.summary_file.write_text(json.dumps(summary))
    return folder


def _events():
    switched = {"name": "always-lifo", "parameters": {}, "admission": {"name": "none"}}
    return [
        {"at": BEGAN.isoformat(), "event": "run started"},
        {"at": "", "event": "switched", "time_s": 35.0, "policy": switched,
         "abandonment": "cancel"},
        {"at": "", "event": "load changed", "time_s": 12.0, "factor": 2.0},
        {"at": "", "event": "run ended"},
    ]  # fmt: skip


def _samples(path, times):
    from lab.engines.samples import SCHEMA

    rows = []
    for number, time_s in enumerate(times):
        row = dict.fromkeys(SCHEMA.names)
        row |= {name: 100 + number for name in SCHEMA.names if name.endswith("_total")}
        row |= {name: 0 for name in SCHEMA.names if name.startswith("waiting")}
        rows.append(row | {"time_s": time_s, "policy": "sq", "discipline": "FIFO", "in_service": 1})
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)


def test_live_runs_are_in_step_by_their_customers(console):
    folder = made(console, "20260101T000000Z-live")
    runs = ComparisonResult(folder).whole_runs()
    frames = console.get(f"/race/lanes/{folder.name}/{runs[0][0].folder}.json").json()
    # 1.5 real seconds after the samples began, at ten paper seconds each, the customers came.
    assert frames["time_s"] == [-15.0, -5.0, 5.0, 15.0, 25.0]
    assert frames["confirms_total"] == [0, 1, 2, 3, 4]
    assert frames["marks"] == [
        {"x": 20.0, "text": "Always-LIFO, when a customer leaves: cancel", "kind": "policy"},
        {"x": 12.0, "text": "load × 2", "kind": "load"},
    ]


def test_a_closed_loop_can_be_raced(console):
    folder = made(console, "20260102T000000Z-closed", rho=None)
    page = console.get(f"/race/?result={folder.name}").text
    assert page.count('data-run="') == 2


def test_a_damaged_run_is_not_there(console):
    folder = made(console, "20260103T000000Z-damaged")
    planned, run = ComparisonResult(folder).whole_runs()[0]
    run.samples_file.write_bytes(b"PAR1")
    assert console.get(f"/race/?result={folder.name}").status_code == 200
    answer = console.get(f"/race/lanes/{folder.name}/{planned.folder}.json")
    assert answer.status_code == 404


def test_a_single_run_is_no_race(console):
    folder = made(console, "20260104T000000Z-single")
    _, run = ComparisonResult(folder).whole_runs()[0]
    run.summary_file.unlink()
    assert folder.name not in console.get("/race/").text
    assert "has no two complete runs" in console.get(f"/race/?result={folder.name}").text


LIVE = b"""version = 1
title = "Too many"
at_once = true
[[policy]]
name = "sq"
[[policy]]
name = "8q-af"
[load]
sessions = 10
"""


def test_what_runs_at_once_is_offered_where_there_are_cpus_for_it(console):
    shops = most_shops(load(console.environment))
    page = console.get("/race/").text
    assert ('name="engine"' in page) == (shops > 0)
    assert (f"processors for {shops} shops" in page) == (shops > 0)
    assert ("too few processors" in page) == (shops == 0)
    assert ('name="at_once"' in console.get("/launch/lifo-pri/").text) == (shops > 0)


def test_where_cpus_lack_nothing_at_once_is_taken(console):
    if most_shops(load(console.environment)):
        pytest.skip("this machine has CPUs for several shops")
    before = console.get("/launches/table").text.count("<tr>")
    answer = console.upload("spec", "/upload/", "my.toml", LIVE)
    assert "at_once: 2 shops of" in answer.text
    answer = console.post("/race/", {**FORM, "engine": "live"})
    assert answer.status_code == 400
    assert (
        "This machine has enough processors for only one shop in addition to the other services"
        in answer.text
    )
    assert console.get("/launches/table").text.count("<tr>") == before
