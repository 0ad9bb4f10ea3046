"""Taking a result away and bringing it back; what is refused leaves nothing behind."""

import io
import json
import stat
import zipfile
from collections.abc import Callable

import pytest

from gateway.students.files import MOST_BYTES
from lab.console import bundles
from lab.experiments.errors import SpecError
from tests.results_in_postgres import connected


@pytest.fixture(scope="module")
def result(console):
    launch = console.launch("Kept", sessions=100, seed=5)
    console.wait_until(launch, "done")
    return console.result_of(launch)


def files(console, name):
    folder = console.results / name
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_a_bundle_brings_back_every_file(console, result):
    before = files(console, result)
    console.post(f"/results/{result}/note", {"text": "Look at <b>this</b>."})
    assert "Look at &lt;b&gt;this&lt;/b&gt;." in console.get(f"/results/{result}/").text
    bundle = console.get(f"/results/{result}/bundle.zip").content
    assert "here already" in console.upload("bundle", "/results/import", "a.zip", bundle).text
    assert "cannot be undone" in console.get(f"/results/{result}/delete").text
    assert files(console, result) == before
    console.post(f"/results/{result}/delete")
    assert console.get(f"/results/{result}/").status_code == 404
    answer = console.upload("bundle", "/results/import", "a.zip", bundle)
    assert answer.url.endswith(f"/results/{result}/")
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


def bundle_with(change: Callable[[zipfile.ZipFile], None]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        change(bundle)
    return file.getvalue()


def link(bundle: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("r/spec.toml")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    bundle.writestr(entry, "/etc/passwd")


BAD = {
    "no ZIP": (b"hello", "cannot be read"),
    "nothing": (b"", "cannot be read"),
    "upwards": (bundle_with(lambda b: b.writestr("r/../../x.json", "{}")), "no name"),
    "absolute": (bundle_with(lambda b: b.writestr("/etc/x.json", "{}")), "no name"),
    "a link": (bundle_with(link), "no name"),
    "hidden": (bundle_with(lambda b: b.writestr(".ssh/x.json", "{}")), "no name"),
    "a program": (bundle_with(lambda b: b.writestr("r/x.py", "1")), "no part of a result"),
    "a program elsewhere": (
        bundle_with(lambda b: b.writestr("r/runs/policies/x.py", "1")),
        "no part of a result",
    ),
    "a large policy": (
        bundle_with(lambda b: b.writestr("r/policies/x.py", "#" * (MOST_BYTES + 1))),
        "a policy of at most",
    ),
    "a policy of this machine": (
        bundle_with(
            lambda b: (
                b.writestr("r/plan.json", "[]"),
                b.writestr("r/policies/x.py", "x = 1"),
                b.writestr("r/spec.toml", "version = 1\n[[policy]]\nname = '/root/x.py'"),
            )
        ),
        "is not in it",
    ),
    "two": (
        bundle_with(lambda b: (b.writestr("a/x.json", "1"), b.writestr("b/x.json", "1"))),
        "not one result",
    ),
    "empty": (bundle_with(lambda b: None), "not one result"),
    "no result": (bundle_with(lambda b: b.writestr("r/x.json", "1")), "holds no result"),
    "bad plan": (
        bundle_with(
            lambda b: (b.writestr("r/plan.json", "[1]"), b.writestr("r/spec.toml", "version = 1"))
        ),
        "r/plan.json",
    ),
    "plan that leads elsewhere": (
        bundle_with(
            lambda b: (
                b.writestr("r/spec.toml", "version = 1"),
                b.writestr(
                    "r/plan.json",
                    json.dumps([{"number": 1, "policy": "../../../x", "rho": 1.0, "seed": 1}]),
                ),
            )
        ),
        "plan",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_bundle_is_refused_and_leaves_nothing(console, kind):
    content, said = BAD[kind]
    before = sorted(path.name for path in console.results.glob("*")) + sorted(
        path.name for path in console.results.glob(".*")
    )
    answer = console.upload("bundle", "/results/import", "a.zip", content)
    assert said in answer.text, answer.text
    after = sorted(path.name for path in console.results.glob("*")) + sorted(
        path.name for path in console.results.glob(".*")
    )
    assert after == before


@pytest.mark.parametrize("file", ["../../spec.toml", "%2e%2e/x", ".hidden", "runs", "nothing.json"])
def test_only_files_of_the_result_are_given(console, result, file):
    assert console.get(f"/results/{result}/files/{file}").status_code == 404


@pytest.mark.parametrize(
    ("name", "is_part"),
    [("r/policies/x.py", True), ("r/runs/x.py", False), ("r/x/policies/x.py", False)],
)
def test_of_programs_only_copies_of_own_policies_are_part_of_a_result(name, is_part):
    content = io.BytesIO(bundle_with(lambda b: b.writestr(name, "1")))
    with zipfile.ZipFile(content) as bundle:
        if is_part:
            assert bundles._checked(bundle) == "r"
        else:
            with pytest.raises(SpecError, match="no part of a result"):
                bundles._checked(bundle)
