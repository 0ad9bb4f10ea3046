"""A damaged result is shown as damaged, and no page of any other result fails because of it."""

import html
import json
import re
import shutil

import pytest

from lab.results.comparison import ComparisonResult
from tests.lab.console.bundling import bundle_of
from tests.results_in_postgres import small_result

pytestmark = pytest.mark.slow


DEEP = "[" * 200_000 + "]" * 200_000
DEEPER_THAN_REPR = '{"a":' * 900 + "1" + "}" * 900
SURROGATE = '"\\ud800"'
HUGE = "1" + "0" * 5000
TABLE = '[{"title": "T", "header": %s, "rows": %s}]'
NAME = "20260104T000000Z-damaged"


@pytest.fixture(scope="module")
def result(console, tmp_path_factory):
    """A small result that is whole."""
    with pytest.MonkeyPatch.context() as patch:
        made = small_result(tmp_path_factory.mktemp("made"), patch)
    whole = shutil.copytree(made.path, console.results / "20260103T000000Z-whole")
    return ComparisonResult(whole)


COMPARISONS = {
    "deep machine": ("machine.json", DEEP),
    "machine too deep to write": ("machine.json", DEEPER_THAN_REPR),
    "machine of a list": ("machine.json", "[1]"),
    "half a character": ("machine.json", f'{{"cpu": {SURROGATE}}}'),
    "deep versions": ("versions.json", DEEP),
    "huge number": ("versions.json", f'{{"doorbuster": {HUGE}}}'),
    "deep tables": ("tables.json", DEEP),
    "rows of numbers": ("tables.json", '[{"title": "T", "header": ["a"], "rows": [5]}]'),
    "a number as header": ("tables.json", TABLE % ("5", "[]")),
    "cells of objects": ("tables.json", TABLE % ('[{"a": 1}]', "[[[1]]]")),
    "tables of numbers": ("tables.json", "[5]"),
    "half a character in a table": ("tables.json", TABLE % (f"[{SURROGATE}]", "[]")),
    "a deep conclusion": ("conclusion.json", DEEP),
    "a conclusion of numbers": ("conclusion.json", '{"verdict": [5], "lines": [5]}'),
    "deep plan": ("plan.json", DEEP),
    "a plan of a text": ("plan.json", '"x"'),
    "a plan without policies": ("plan.json", '[{"number": 1}]'),
    "a plan of lists": ("plan.json", '[{"number": 1, "policy": ["sq"], "rho": 1, "seed": 1}]'),
    "a plan of paths": (
        "plan.json",
        '[{"number": 1, "policy": "../../x", "rho": 1.0, "seed": 1}]',
    ),
    "a plan of long names": (
        "plan.json",
        json.dumps([{"number": 1, "policy": "x" * 5000, "rho": 1.0, "seed": 1}]),
    ),
    "a plan of infinities": (
        "plan.json",
        '[{"number": 1, "policy": "sq", "rho": 1e999, "seed": 1}]',
    ),
    "deep board": ("leaderboard.json", DEEP),
    "a board of infinities": (
        "leaderboard.json",
        '{"loads": [], "heading": "B", "engine": "simulated", "made": 1e999, "planned": 1, '
        '"sessions": "1", "repetitions": 1, "rows": [], "leaders": {}, "ablation": ""}',
    ),
    "no TOML": ("spec.toml", "[[[["),
    "deep TOML": ("spec.toml", "a = " + "[" * 5000),
    "large TOML": ("spec.toml", "# " + "x" * 2**21),
    "deep capacity": ("capacity.json", DEEP),
    "a deep mark": ("imported.json", DEEP),
    "deep run": ("runs/*/run.json", DEEP),
    "a run of a list": ("runs/*/run.json", "[]"),
    "a run of texts": ("runs/*/run.json", '{"reconciles": "x", "load_generator": 5}'),
    "deep events": ("runs/*/events.jsonl", DEEP),
    "events of numbers": ("runs/*/events.jsonl", "5\n"),
    "no attempts": ("runs/*/attempts.parquet", "x"),
    "no samples": ("runs/*/samples.parquet", "x"),
}
UNMARKED = {"deep board", "a board of infinities", "deep events", "events of numbers",
            "no attempts", "no samples"}  # fmt: skip
"""Files that only one page reads, which reports the damage; the list of results does
not read them."""


def pages(name):
    """Every page that reads this result or all results."""
    here = f"/results/{name}"
    return [
        *("/", "/results/", "/results/?words=rush", "/race/", "/metrics", "/leaderboard/"),
        *("/scoreboard/", f"/race/?result={name}", f"{here}/", f"{here}/page.html"),
        *(f"{here}/sessions", f"{here}/bundle.zip", f"/results/overlay?of={name}"),
    ]


def pages_that_may_refuse(result):
    """Pages of logs, which say in one line that a log cannot be read."""
    name = result.path.name
    here = f"/results/{name}"
    run = result.plan()[0].folder
    return [
        f"{here}/curves.json",
        f"{here}/attempts",
        f"{here}/attempts?run={run}&kind=all",
        f"{here}/why?run={run}&session=0&step=0&attempt=1",
        f"/race/lanes/{name}/{run}.json",
        f"{here}/runs/{run}/attempts.csv",
        f"{here}/runs/{run}/samples.csv",
        f"{here}/table/0.csv",
    ]


@pytest.mark.parametrize("kind", COMPARISONS)
def test_a_damaged_comparison_breaks_no_page(console, result, kind):
    file, content = COMPARISONS[kind]
    damaged = ComparisonResult(shutil.copytree(result.path, console.results / NAME))
    try:
        links = pages_that_may_refuse(damaged)
        (damaged.path / "leaderboard.json").write_text("{}")
        places = list(damaged.path.glob(file)) or [damaged.path / file]
        for place in places:
            place.write_text(content)
        for page in pages(NAME):
            assert console.get(page).status_code == 200, page
        for page in links:
            assert console.get(page).status_code in (200, 404, 422), page
        listed = console.get("/results/").text
        row = next(row for row in listed.split("<tr>") if NAME in row)
        if kind not in UNMARKED:
            assert ">damaged<" in row
            page = console.get(f"/results/{NAME}/").text
            assert "This result is damaged: " in page
            assert f"{console.results}/" not in page, "where results lie is not for students"
            assert 'class="tag "' not in page, "a tag without a word"
        whole = next(row for row in listed.split("<tr>") if result.path.name in row)
        assert ">damaged<" not in whole
        if kind == "a deep mark":
            assert ">imported<" in row
    finally:
        shutil.rmtree(damaged.path)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("reproduction.json", DEEP),
        ("reproduction.json", "[5]"),
        ("reproduction.json", '{"machine": 5, "paper": [], "engine": {}}'),
        ("claims.json", DEEP),
        ("claims.json", ""),
        ("claims.json", '[{"Claim": {"a": [1]}}]'),
        ("exhibits.json", DEEP),
        ("exhibits.json", '[{"key": "../x", "tables": []}]'),
        ("exhibits.json", '[{"key": "a", "heading": 5, "differs": 5, "tables": [5]}]'),
        ("exhibits.json", '[{"key": "a", "tables": [{"header": 5, "rows": [5]}]}]'),
        ("tables/a.csv", '"' + "x" * 200_000),
    ],
)
def test_a_damaged_report_breaks_no_page(console, result, file, content):
    folder = console.results / NAME
    (folder / "tables").mkdir(parents=True)
    (folder / "reproduction.json").write_text('{"paper": "leaderboard-robustness"}')
    (folder / "report.html").write_text("<p>")
    try:
        (folder / file).write_text(content)
        for page in pages(NAME):
            if not page.endswith("/sessions"):  # a report has none
                assert console.get(page).status_code == 200, page
        assert console.get(f"/results/{NAME}/table/0.csv").status_code in (200, 404)
        row = next(row for row in console.get("/results/").text.split("<tr>") if NAME in row)
        assert (">damaged<" in row) == file.endswith(".json")
    finally:
        shutil.rmtree(folder)


def test_a_result_without_tables_names_the_command_that_calculates_them(console, result):
    """An experiment that is cancelled while its tables are calculated leaves such a result."""
    folder = shutil.copytree(result.path, console.results / NAME)
    command = f"<code>doorbuster results draw {NAME}</code>"
    try:
        assert command in console.get(f"/results/{NAME}/").text
        (folder / "tables.json").write_text(TABLE % ('["a"]', '[["1"]]'))
        assert command not in console.get(f"/results/{NAME}/").text
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "kind",
    ["deep machine", "rows of numbers", "a plan of paths", "deep board", "no TOML", "large TOML",
     "a run of texts", "events of numbers", "no attempts"],
)  # fmt: skip
def test_a_damaged_bundle_is_refused(console, result, kind):
    file, content = COMPARISONS[kind]
    packed = bundle_of(result.path, NAME, {file: content})
    said = console.upload("bundle", "/results/import", "a.zip", packed)
    assert said.status_code == 200
    words = re.search(r"(?:bundle|Size of a spec file): [^<]*", html.unescape(said.text))[0]
    assert file.rpartition("/")[2] in words or words.startswith("Size of a spec file: 2 MiB")
    assert not (console.results / NAME).exists()
    assert console.get("/results/").status_code == 200
