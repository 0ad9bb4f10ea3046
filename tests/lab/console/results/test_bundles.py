"""Taking a result away and bringing it back; what is refused leaves nothing behind."""

import html
import io
import json
import re
import resource
import stat
import zipfile
from pathlib import Path
from urllib.parse import urljoin

import pytest

from gateway.students.files import MOST_BYTES
from lab.bundle import extras
from lab.console.results import bundles, imports
from lab.console.site import allowances
from lab.errors import SpecError
from lab.files.documents import MOST_NOTES
from lab.results import reference as references
from lab.results.result import IMPORTED
from tests.lab.console.bundling import bundle_of, unpack
from tests.lab.console.conftest import SPEC
from tests.results_in_postgres import connected

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result(console):
    launch = console.launch("Kept", sessions=100, seed=5)
    console.wait_until(launch, "done")
    return console.result_of(launch)


def files(console, name):
    """The files of a result without locks and the mark of an import."""
    folder = console.results / name
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and not p.name.startswith(".") and p != folder / IMPORTED
    }


def test_a_bundle_brings_back_every_file(console, result):
    before = files(console, result)
    console.post(f"/results/{result}/note", {"text": "Look at <b>this</b>."})
    assert "Look at &lt;b&gt;this&lt;/b&gt;." in console.get(f"/results/{result}/").text
    page = console.get(f"/results/{result}/page.html").text
    assert "Look at &lt;b&gt;this&lt;/b&gt;." in page
    bundle = console.get(f"/results/{result}/bundle.zip").content
    with zipfile.ZipFile(io.BytesIO(bundle)) as packed:
        names = {name.partition("/")[2] for name in packed.namelist()}
    assert names == {*before, bundles.NOTES_FILE, *extras.NAMES}
    assert (
        "the lab already has" in console.upload("bundle", "/results/import", "a.zip", bundle).text
    )
    asked = console.get(f"/results/{result}/delete").text
    assert "You cannot undo this" in asked
    assert "keeps all files of the result and its note." in asked
    assert files(console, result) == before
    console.post(f"/results/{result}/delete")
    assert console.get(f"/results/{result}/").status_code == 404
    answer = console.upload("bundle", "/results/import", "a.zip", bundle)
    assert answer.url.endswith(f"/results/{result}/")
    assert "Look at &lt;b&gt;this&lt;/b&gt;." in answer.text
    assert "(as a bundle says)" in answer.text
    assert files(console, result) == before


def test_the_results_database_follows(console, result, appliance_database):
    bundle = console.get(f"/results/{result}/bundle.zip").content
    with connected(appliance_database, appliance_database.postgres_user) as database:

        def runs():
            asked = "SELECT state, count(*) FROM results.runs WHERE experiment = %s GROUP BY state"
            return database.execute(asked, [result]).fetchall()

        assert runs() == [("whole", 2)]  # the launch told it
        console.post(f"/results/{result}/delete")
        assert runs() == []
        console.upload("bundle", "/results/import", "a.zip", bundle)
        assert runs() == [("whole", 2)]


def test_runs_named_by_a_label_with_a_space_are_brought_back_and_linked(console):
    spec = SPEC.format(title="Labelled", seed=1, repetitions=1, sessions=20)
    spec = spec.replace('name = "sq"', 'name = "sq"\nlabel = "Few hands"')
    answer = console.upload("spec", "/upload/", "my.toml", spec.encode())
    launch = answer.url.rstrip("/").rpartition("/")[2]
    console.wait_until(launch, "done")
    name = console.result_of(launch)
    run = console.results / name / "runs/001-Few hands-rho1.4-seed1"
    (run / "haproxy.cfg").write_text("global\n")  # as behind a baseline proxy
    (run / "nginx.conf").write_text("events {}\n")
    (run / "load-factor").write_text("1\n")  # as a live run leaves it that was killed
    before = files(console, name)
    bundle = console.get(f"/results/{name}/bundle.zip").content
    console.post(f"/results/{name}/delete")
    answer = console.upload("bundle", "/results/import", "a.zip", bundle)
    assert answer.url.endswith(f"/results/{name}/"), answer.text
    del before["runs/001-Few hands-rho1.4-seed1/load-factor"]
    assert files(console, name) == before
    page = f"/results/{name}/"
    found = re.findall(r'href="([^"]*Few[^"]*)"', answer.text)
    links = {urljoin(page, html.unescape(link)) for link in found}
    assert {link.rpartition("/")[2] for link in links} >= {
        "attempts.parquet", "samples.parquet", "events.jsonl", "run.json", "attempts.csv",
    }  # fmt: skip
    assert {console.get(link).status_code for link in links} == {200}
    shown = console.get(f"/results/{name}/files/runs/001-Few hands-rho1.4-seed1/haproxy.cfg")
    assert shown.headers["Content-Type"].startswith("text/plain")


def bundle_with(*files: tuple[str | zipfile.ZipInfo, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        for name, content in files:
            bundle.writestr(name, content)
    return file.getvalue()


def link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("r/spec.toml")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def damaged(method: int) -> bytes:
    """A ZIP whose directory is whole and whose one file's compressed bytes are not."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as bundle:
        bundle.writestr("r/plan.json", "[]" * 5000)
        entry = bundle.getinfo("r/plan.json")
    content = bytearray(file.getvalue())
    begin = len(entry.FileHeader())
    content[begin : begin + entry.compress_size] = b"\xff" * entry.compress_size
    return bytes(content)


NOTE = {"text": "x", "by": "", "at": "2026-11-22T10:00:00+00:00"}
ELSEWHERE = [{"number": 1, "policy": "../../../x", "rho": 1.0, "seed": 1}]
PLAN = ("r/plan.json", "[]")
INVALID, FOREIGN = "is not a valid name", "does not belong to a result"
ONE_FOLDER, UNPACKED = "must hold exactly one result folder", "cannot be unpacked"
OWN = "version = 1\n[[policy]]\nname = '/root/x.py'"
BAD = {
    "no ZIP": (b"hello", "cannot be read"),
    "nothing": (b"", "cannot be read"),
    "damaged by deflate": (damaged(zipfile.ZIP_DEFLATED), "cannot be read"),
    "damaged by lzma": (damaged(zipfile.ZIP_LZMA), "cannot be read"),
    "damaged by bzip2": (damaged(zipfile.ZIP_BZIP2), UNPACKED),
    "a file and a folder of one name": ([("r/x.json", "1"), ("r/x.json/y.json", "1")], UNPACKED),
    "a folder and a file of one name": ([("r/x.json/y.json", "1"), ("r/x.json", "1")], UNPACKED),
    "upwards": ([("r/../../x.json", "{}")], INVALID),
    "absolute": ([("/etc/x.json", "{}")], INVALID),
    "a link": ([(link(), "/etc/passwd")], INVALID),
    "no name": ([("./", "")], INVALID),
    "spaces at an end": ([("r/x /y.json", "1")], INVALID),
    "control characters": ([("r/x\ny.json", "1")], INVALID),
    "backslashes": ([("r/x\\y.json", "1")], INVALID),
    "hidden": ([(".ssh/x.json", "{}")], INVALID),
    "a program": ([("r/x.py", "1")], FOREIGN),
    "a program elsewhere": ([("r/runs/policies/x.py", "1")], FOREIGN),
    "a large policy": ([("r/policies/x.py", "#" * (MOST_BYTES + 1))], "a policy of at most"),
    "a policy of this machine": (
        [PLAN, ("r/policies/x.py", "x = 1"), ("r/spec.toml", OWN)],
        "is missing; allowed: copies",
    ),
    "two": ([("a/x.json", "1"), ("b/x.json", "1")], ONE_FOLDER),
    "empty": ([], ONE_FOLDER),
    "no result": ([("r/x.json", "1")], "holds no result"),
    "bad plan": ([("r/plan.json", "[1]"), ("r/spec.toml", "version = 1")], "r/plan.json"),
    "notes without a time": (
        [PLAN, ("r/notes.json", json.dumps([NOTE | {"at": "today"}]))],
        "r/notes.json does not have the form of notes.json: 0.at",
    ),
    "too many notes": (
        [PLAN, ("r/notes.json", json.dumps([NOTE] * (MOST_NOTES + 1)))],
        "at most 1000 items",
    ),
    "plan that leads elsewhere": (
        [("r/spec.toml", "version = 1"), ("r/plan.json", json.dumps(ELSEWHERE))],
        "plan",
    ),
}


def bad(kind: str) -> tuple[bytes, str]:
    """Return a bad bundle, and words of its refusal."""
    content, said = BAD[kind]
    return (content if isinstance(content, bytes) else bundle_with(*content)), said


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_bundle_is_refused(tmp_path, kind):
    content, said = bad(kind)
    with pytest.raises(SpecError, match=re.escape(said)) as refusal:
        unpack(content, tmp_path)
    assert "bundle: bundle" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["no ZIP", "damaged by bzip2", "too many notes"])
def test_a_page_refuses_what_is_no_bundle_and_leaves_nothing(console, kind):
    """The first cannot be read, the second not unpacked; the third is unpacked and is no result."""
    content, said = bad(kind)
    before = sorted(path.name for path in console.results.iterdir())
    answer = console.upload("bundle", "/results/import", "a.zip", content)
    assert said in answer.text, answer.text
    assert "bundle: bundle" not in answer.text
    assert sorted(path.name for path in console.results.iterdir()) == before


def test_a_disk_that_takes_no_more_is_said_and_nothing_is_left(tmp_path):
    content = io.BytesIO(bundle_with(("r/plan.json", " " * 1_000_000)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(SpecError, match=r"bundle: cannot be (unpacked|kept)"):
            imports.bring(content, tmp_path, by="", key="disk", allowance=allowances.TEACHER)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_without_a_notebook_is_imported(tmp_path):
    """Bundles of earlier releases come back as before."""
    source = references.FOLDER / "reference-race"
    content = io.BytesIO(bundle_of(source, "20260101T000000Z-old"))
    found = imports.bring(content, tmp_path, by="", key="old", allowance=allowances.TEACHER)
    expected = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    kept = {path.relative_to(found) for path in found.rglob("*") if path.is_file()}
    assert kept == {*expected, Path(IMPORTED)}


def test_the_notebook_of_a_bundle_is_not_kept(tmp_path):
    """A foreign notebook is a program: the next export makes its own."""
    source = references.FOLDER / "reference-race"
    extra = {"analysis.ipynb": "rm -rf /", "ro-crate-metadata.json": "[", "bound.json": "x"}
    content = io.BytesIO(bundle_of(source, "20260101T000000Z-new", extra))
    found = imports.bring(content, tmp_path, by="", key="new", allowance=allowances.TEACHER)
    assert not any((found / name).exists() for name in extra)
    elsewhere = io.BytesIO(bundle_of(source, "20260101T000000Z-x", {"runs/a.ipynb": "{}"}))
    with pytest.raises(SpecError, match=r"does not belong to a result"):
        imports.bring(elsewhere, tmp_path, by="", key="x", allowance=allowances.TEACHER)


@pytest.mark.parametrize("file", ["../../spec.toml", "%2e%2e/x", ".hidden", "runs", "nothing.json"])
def test_only_files_of_the_result_are_given(console, result, file):
    assert console.get(f"/results/{result}/files/{file}").status_code == 404
