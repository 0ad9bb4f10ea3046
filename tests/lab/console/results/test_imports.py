"""Imported results: bounded, counted, marked, and never taken for what was measured here."""

import html
import io
import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lab.console.results import imports
from lab.console.site import allowances
from lab.console.site.allowances import AllowanceError
from lab.errors import SpecError
from lab.report.seal import SEAL
from lab.results.comparison import ComparisonResult
from lab.results.result import IMPORTED, Imported, began_at_of
from lab.students.scoreboard import FOLDER as SCOREBOARD
from loadgen.records.attempt_log import SCHEMA
from tests.lab.console import boards
from tests.lab.console.bundling import bundle_of, unpack
from tests.lab.console.visitors import enrolled
from tests.results_in_postgres import connected, small_result

pytestmark = pytest.mark.slow


NAME = "20260105T000000Z-elsewhere"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small result of another machine."""
    with pytest.MonkeyPatch.context() as patch:
        return small_result(tmp_path_factory.mktemp("made"), patch)


@pytest.fixture
def limits(request):
    """A student's limits; counts are of this test alone."""
    return replace(allowances.STUDENT, whose=f"a student ({request.node.name})")


def bring(packed, to, allowance, person="mal"):
    """Import a bundle as a person, without a console."""
    key = f"{person} {to}"
    return imports.bring(io.BytesIO(packed), to, by=person, key=key, allowance=allowance)


def attempts(rows: int, request_id: str = "") -> bytes:
    """An attempts.parquet of equal rows; each text is in memory and in the file once."""
    row = {"session": 1, "step": 1, "page": "Br-1", "attempt": 1, "outcome": "completed",
           "status": 200, "request_id": request_id, "intended_s": 0.0, "started_s": 0.0,
           "finished_s": 1.0, "patience_s": 8.0}  # fmt: skip
    number = min(rows, 100_000)

    def column(field):
        if field.type != pa.string():
            return pa.repeat(pa.scalar(row[field.name], field.type), number)
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0), number), [row[field.name]])

    columns = [column(field) for field in SCHEMA]
    schema = pa.schema(
        [pa.field(f.name, c.type, f.nullable) for f, c in zip(SCHEMA, columns, strict=True)]
    )
    table = pa.Table.from_arrays(columns, schema=schema)
    file = io.BytesIO()
    options = {"compression": "zstd", "store_schema": False, "dictionary_pagesize_limit": 2**30}
    with pq.ParquetWriter(file, schema, **options) as writer:
        for _ in range(max(1, rows // number)):
            writer.write_table(table)
    return file.getvalue()


# ---- finding 4: what a bundle may take -----------------------------------------------------------


def test_a_bundle_of_twenty_million_rows_is_refused_at_once(made, tmp_path, limits):
    """A small file of many rows is refused by the number of its rows, and needs no memory here."""
    packed = bundle_of(made.path, NAME, {"attempts.parquet": attempts(20_000_000)})
    before = psutil.Process().memory_info().rss
    with pytest.raises(AllowanceError, match=r"Rows of all raw logs in a bundle: [24]0,000,000"):
        bring(packed, tmp_path, limits)
    assert psutil.Process().memory_info().rss - before < 200 * 2**20
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_every_row_repeats_is_refused(made, tmp_path, limits):
    """One long text in every row would need more memory than rows and file explain."""
    packed = bundle_of(made.path, NAME, {"attempts.parquet": attempts(100_000, "x" * 5_000_000)})
    with pytest.raises(SpecError, match=r"bundle: .*(text of more than|more memory|limits)"):
        bring(packed, tmp_path, limits)


def test_bytes_files_spec_and_runs_have_limits(made, tmp_path, limits):
    plan = [{"number": n, "policy": "sq", "rho": 1.4, "seed": n} for n in range(2001)]
    for limit, changes, words in (
        ("bundle_unpacked_bytes", {"x.log": bytes(2**20)}, "Size of a bundle, unpacked"),
        ("bundle_files", {}, "Files in a bundle"),
        ("spec_bytes", {"spec.toml": "# " + "x" * 2**16}, "Size of a spec file"),
        ("runs_per_launch", {"plan.json": json.dumps(plan)}, "Runs in one launch: 2,001"),
    ):
        small = {"bundle_unpacked_bytes": 2**20, "bundle_files": 5}.get(limit)
        allowed = limits if small is None else replace(limits, **{limit: small})
        with pytest.raises(AllowanceError, match=words):
            bring(bundle_of(made.path, NAME, changes), tmp_path, allowed)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_keeps_room_for_others(made, tmp_path, limits, monkeypatch):
    monkeypatch.setattr(allowances, "FREE_DISK_BYTES", 2**60)
    with pytest.raises(Exception, match="the disk has too little free space"):
        bring(bundle_of(made.path, NAME), tmp_path, limits)


@pytest.mark.parametrize("page", ["attempts?run={run}", "curves.json", "runs/{run}/attempts.csv"])
def test_large_logs_that_lie_there_are_read_by_a_child(console, made, page):
    """A result with logs too large for the console is refused in words, and its memory stays."""
    folder = shutil.copytree(made.path, console.results / NAME)
    try:
        planned = ComparisonResult(folder).plan()[0]
        file = folder / "runs" / planned.folder / "attempts.parquet"
        file.write_bytes(attempts(400_000, "x" * 20_000))  # 8 GB of text
        server = psutil.Process(console.server.pid)
        before = server.memory_info().rss
        answer = console.get(f"/results/{NAME}/{page.format(run=planned.folder)}")
        assert answer.status_code in (200, 422)
        assert re.search("text of more than|more memory|too large for the console", answer.text)
        assert server.memory_info().rss - before < 300 * 2**20
    finally:
        shutil.rmtree(folder)


# ---- finding 9: marked, and not of this lab ------------------------------------------------------


def test_the_mark_is_ours(made, tmp_path, limits):
    """The mark says who brought the bundle and when, whatever the bundle says of itself."""
    forged = json.dumps({"by": "anna", "at": "", "sha256": "", "size_bytes": 1})
    path = bring(bundle_of(made.path, NAME, {IMPORTED: forged}), tmp_path, limits)
    mark = Imported.read(path)
    assert re.fullmatch(r"imported by mal on \d{4}-\d\d-\d\d at \d\d:\d\d UTC", mark.words)
    assert len(mark.sha256) == 64
    assert mark.size_bytes > 1000
    assert IMPORTED not in bundle_of(path).decode("latin-1")


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (NAME, NAME),
        (SCOREBOARD, f"20260601T000000Z-{SCOREBOARD}"),
        ("20991231T235959Z-forged", "20260601T000000Z-forged"),
        ("20269999T999999Z-no date", "20260601T000000Z-no-date"),
        ("00010101T000000Z-old", "20260601T000000Z-old"),
        ("20260105T000000Z", "20260601T000000Z-imported"),
        ("zzz", "20260601T000000Z-zzz"),
    ],
)
def test_names_are_of_the_past(told, kept):
    assert imports.name_for(told, NOW) == kept
    assert began_at_of(kept) is not None


def test_an_imported_result_is_neither_resumed_nor_the_newest(made, tmp_path, limits):
    """A forged half of a result is not finished by the command that its spec belongs to."""
    plan = json.loads((made.path / "plan.json").read_text())
    more = [*plan, plan[0] | {"number": 3, "seed": 9}]
    path = bring(bundle_of(made.path, NAME, {"plan.json": json.dumps(more)}), tmp_path, limits)
    assert ComparisonResult.unfinished(tmp_path, ComparisonResult(path).spec()) is None
    own = shutil.copytree(made.path, tmp_path / "20200101T000000Z-own")
    assert ComparisonResult.newest(tmp_path).path == own
    (path / IMPORTED).unlink()
    assert ComparisonResult.newest(tmp_path).path == path


def test_the_mark_is_shown_wherever_the_result_is(console, made, appliance_database):
    said = console.upload("bundle", "/results/import", "a.zip", bundle_of(made.path, NAME))
    assert f"Imported as {NAME}." in said.text
    assert "This result was not measured here" in said.text
    try:
        here = f"/results/{NAME}"
        listed = console.get("/results/?words=imported").text
        assert ">imported<" in next(row for row in listed.split("<tr>") if NAME in row)
        for page in ("/race/", f"/race/?result={NAME}", f"/results/overlay?of={NAME}",
                     f"{here}/attempts"):  # fmt: skip
            assert ">imported<" in console.get(page).text, page
        assert "(imported)" in console.get(f"/results/overlay?of={NAME}").text
        for file in ("page.html", "bundle.zip", f"runs/{made.plan()[0].folder}/samples.csv"):
            told = console.get(f"{here}/{file}").headers["Content-Disposition"]
            assert 'filename="imported-' in told
        assert "Not measured here: imported" in console.get(f"{here}/page.html").text
        asked = "SELECT imported, title FROM results.experiments WHERE experiment = %s"
        with connected(appliance_database, appliance_database.postgres_user) as database:
            ((imported, title),) = database.execute(asked, [NAME]).fetchall()
            runs = "SELECT state, count(*) FROM results.runs WHERE experiment = %s GROUP BY 1"
            assert database.execute(runs, [NAME]).fetchall() == [("whole", 2)]
        assert imported
        assert title.endswith(" (imported)")
        assert NAME not in console.get("/metrics").text
    finally:
        console.post(f"/results/{NAME}/delete")


def test_an_imported_board_is_never_the_leaderboard(console, made):
    board = json.dumps(boards.board(heading="Forged"))
    console.upload(
        "bundle",
        "/results/import",
        "a.zip",
        bundle_of(made.path, NAME, {"leaderboard.json": board}),
    )
    try:
        page = console.get("/leaderboard/").text
        assert "This board comes with Doorbuster" in page
        assert "5 of 6 runs are complete" not in page
        named = console.get(f"/leaderboard/?of={NAME}").text
        assert "This board was not measured here" in named
    finally:
        console.post(f"/results/{NAME}/delete")


# ---- finding 14: quotas --------------------------------------------------------------------------


def test_imports_are_counted_and_kept_within_limits(made, tmp_path, limits):
    allowed = replace(limits, imports_per_hour=3, kept_imports=2)
    packed = [bundle_of(made.path, f"2026010{n}T000000Z-x") for n in range(1, 6)]
    for one in packed[:2]:
        path = bring(one, tmp_path, allowed)
    with pytest.raises(AllowanceError, match="Imported results that are kept: 3; allowed: 2"):
        bring(packed[2], tmp_path, allowed)
    shutil.rmtree(path)
    size_bytes = sum(mark.size_bytes for mark in imports.kept_by(tmp_path, "mal"))
    full = replace(allowed, kept_import_bytes=size_bytes + 1000)
    with pytest.raises(AllowanceError, match="Size of all imported results"):
        bring(packed[2], tmp_path, full)
    with pytest.raises(AllowanceError, match="Bundles imported in an hour"):
        bring(packed[2], tmp_path, allowed)
    bring(packed[3], tmp_path, allowed, person="bob")  # another person has limits of their own


@pytest.mark.long
def test_students_delete_what_they_imported(classroom, made):
    mal, bob = (enrolled(classroom, "student", name) for name in ("mal", "bob"))
    answer = mal.upload("bundle", "/results/import", "a.zip", bundle_of(made.path, NAME))
    assert "imported by mal on " in answer.text
    assert "Delete" in answer.text
    assert "result-delete" not in bob.get(f"/results/{NAME}/").text
    assert bob.post(f"/results/{NAME}/delete").status_code == 403
    assert (classroom.results / NAME).is_dir()
    assert mal.get(f"/results/{NAME}/delete").status_code == 200
    for n in range(21):
        said = mal.post(f"/results/{NAME}/note", {"text": f"note {n}"}).text
    assert "Notes on one result: 21; allowed: 20" in html.unescape(said)
    mal.post(f"/results/{NAME}/delete")
    assert not (classroom.results / NAME).exists()


# ---- finding 15: what is taken away runs nothing -------------------------------------------------


@pytest.mark.browser
def test_pages_of_a_bundle_run_nothing_from_a_disk(console, made, chromium, tmp_path):
    script = (
        "<title>whole</title><script>document.title = 'ran'</script>"
        "<img src=x onerror=\"document.title='ran'\">"
    )
    packed = bundle_of(made.path, NAME, {"report.html": script})
    console.upload("bundle", "/results/import", "a.zip", packed)
    try:
        page = chromium.new_page()
        for name in ("page.html", "files/report.html?download"):
            (tmp_path / "taken.html").write_bytes(console.get(f"/results/{NAME}/{name}").content)
            page.goto((tmp_path / "taken.html").as_uri())
            page.wait_for_timeout(200)
            assert page.title() == "whole"
        page.close()
        assert (console.results / NAME / "report.html").read_text().count(SEAL) == 1
    finally:
        console.post(f"/results/{NAME}/delete")


def test_what_a_killed_console_was_importing_or_deleting_is_removed(tmp_path):
    """No limit counts these folders, and no page shows them."""
    for name in (".import-a1", ".deleted-b2", NAME, "scoreboard"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").write_text("[]")
    imports.remove_left_overs(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {NAME, "scoreboard"}


@pytest.mark.parametrize(
    "content",
    [
        "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>",
        "<svg xmlns='http://www.w3.org/2000/svg'><a href='javascript:x()'/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><foreignObject/></svg>",
        "<?xml-stylesheet href='#x'?><svg xmlns='http://www.w3.org/2000/svg'/>",
        "<!DOCTYPE svg [<!ENTITY x 'y'>]><svg xmlns='http://www.w3.org/2000/svg'>&x;</svg>",
        "<svg",
    ],
)
def test_pictures_with_programs_are_refused(made, tmp_path, content):
    with pytest.raises(SpecError, match=r"bundle: .figures/x\.svg"):
        unpack(bundle_of(made.path, NAME, {"figures/x.svg": content}), tmp_path)
