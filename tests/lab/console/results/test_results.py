"""The result list, a result's page and curves, overlays, what is taken away, running it again."""

import csv
import html
import io
import json
import re
import shutil

import pyarrow.parquet as pq
import pytest

from lab.analysis.outcomes import outcomes_of
from lab.results.comparison import ComparisonResult
from tests.lab.console.conftest import FORM

pytestmark = pytest.mark.slow


REPORT = "20260102T000000Z-reproduce-something"


@pytest.fixture(scope="module")
def result(console):
    launch = console.launch("Two in the rush", sessions=300, seed=7, repetitions=2)
    console.wait_until(launch, "done")
    return console.result_of(launch)


@pytest.fixture(scope="module")
def report(console):
    folder = console.results / REPORT
    (folder / "figures").mkdir(parents=True)
    (folder / "reproduction.json").write_text('{"paper": "lifo-pri", "engine": "simulated"}')
    (folder / "claims.json").write_text(
        json.dumps(
            [
                {"Claim": "SQ sells least", "Required": "below 8", "Found": "7", "Holds": "yes"},
                {"Claim": "<b>", "Required": "1", "Found": "2", "Holds": "no"},
            ]
        )
    )
    table = {"title": "Table 9", "header": ["", "SQ"], "rows": [["Sold", "8 | 7"]], "note": "Of us"}
    (folder / "exhibits.json").write_text(
        json.dumps(
            [
                {"key": "table-9", "heading": "Table 9: sales", "what": "Who sells.",
                 "differs": ["The shop is another."], "tables": [table]},
                {"key": "figure-9", "heading": "Figure 9", "what": "", "differs": [], "tables": []},
            ]
        )
    )  # fmt: skip
    (folder / "figures" / "figure-9.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "report.html").write_text("<!doctype html><title>Whole</title>")
    return REPORT


def test_published_stands_beside_measured(console, result):
    page = console.get(f"/results/{result}/").text
    found = re.search(
        r'<span class="theirs"><span class="unseen">published </span>([\d,]+)</span> '
        r'<span class="ours"><span class="unseen">here </span>([\d,]+ ± [\d,]+)</span>',
        page,
    )
    assert found
    assert "Counts reconcile in all 4 runs" in page


def test_curves_are_there_before_anybody_asks(console, result):
    assert (console.state / "console" / "curves" / f"{result}.json").is_file()


def test_curves_are_what_the_raw_logs_say(console, result):
    curves = console.get(f"/results/{result}/curves.json").json()
    folder = ComparisonResult(console.results / result)
    line = next(one for one in curves["lines"] if one["policy"] == "sq")
    runs = [run.attempts() for planned, run in folder.whole_runs() if planned.policy == "sq"]
    shares = []
    for run in runs:
        asked = [row for row in run.to_pylist() if row["page"] == "Br-1" and row["attempt"]]
        slow = [
            row
            for row in asked
            if row["outcome"] != "completed" or row["finished_s"] - row["started_s"] > 5.0
        ]
        shares.append(len(slow) / len(asked))
    place = curves["times_s"].index(5.0)
    assert line["above"]["Br-1"]["mean"][place] == pytest.approx(sum(shares) / 2, abs=1e-5)
    assert (
        line["above"]["Br-1"]["low"][place]
        <= line["above"]["Br-1"]["mean"][place]
        <= line["above"]["Br-1"]["high"][place]
    )
    throughput = next(one for one in curves["against_rho"] if one["key"] == "throughput")
    (point,) = next(one for one in throughput["lines"] if one["policy"] == "sq")["points"]
    rates = [outcomes_of(run, 1.4).throughput_rps for run in runs]
    assert point["mean"] == pytest.approx(sum(rates) / 2, abs=1e-4)
    assert sum(one["mean"] for one in line["fates"].values()) == pytest.approx(1.0, abs=1e-4)
    assert "Fates of sessions" in console.get(f"/results/{result}/sessions").text


def test_curves_are_kept_and_made_anew_when_a_log_changes(console, result):
    first = console.get(f"/results/{result}/curves.json").json()
    kept = console.state / "console" / "curves" / f"{result}.json"
    before = kept.stat().st_mtime_ns
    assert console.get(f"/results/{result}/curves.json").json() == first
    assert kept.stat().st_mtime_ns == before
    kept.write_text("{")  # cut short
    assert console.get(f"/results/{result}/curves.json").json() == first
    (run, *_) = (console.results / result / "runs").iterdir()
    (run / "run.json").write_text((run / "run.json").read_text())
    assert console.get(f"/results/{result}/curves.json").json() == first
    assert kept.stat().st_mtime_ns > before


def test_results_lie_over_each_other_and_what_differs_is_said(console, result, report):
    other = console.results / "20260103T000000Z-other"
    shutil.copytree(console.results / result, other)
    machine = json.loads((other / "machine.json").read_text())
    (other / "machine.json").write_text(json.dumps(machine | {"cpus": 999}))
    try:
        page = html.unescape(console.get(f"/results/overlay?of={result}&of={other.name}").text)
        assert "These results were made under different conditions" in page
        assert re.search(r"cpus \(machine\)</th><td>\d+</td><td>999</td>", page)
        sources = json.loads(re.search(r'id="sources"[^>]*>(.*?)</script>', page)[1])
        assert [one["name"] for one in sources] == [result, other.name]
        assert len({one["title"] for one in sources}) == 2
        elsewhere = html.unescape(console.get(f"/results/{other.name}/").text)
        assert "CPUs: 999 there" in elsewhere
    finally:
        shutil.rmtree(other)
    assert console.get(f"/results/overlay?of={result}&of=none").status_code == 404
    assert "First choose the results" in console.get("/results/overlay").text
    assert "is a report" in console.get(f"/results/overlay?of={result}&of={report}").text


def test_a_reproduction_shows_its_claims_tables_and_figures(console, report):
    page = console.get(f"/results/{report}/").text
    assert "1 of 2 claims hold, 1 does not." in page
    assert "&lt;b&gt;" in page
    assert "Table 9: sales" in page
    assert "The shop is another." in page
    assert f"/results/{report}/files/figures/figure-9.svg" in page
    table = console.get(f"/results/{report}/table/0.csv")
    assert 'filename="table-9.csv"' in table.headers["Content-Disposition"]
    assert table.content.decode("utf-8-sig") == (
        "row,metric,value,low,high,unit,published\nSold,SQ,7,,,,8\n"
    )
    page = console.get(f"/results/{report}/page.html").text
    assert page.endswith("<!doctype html><title>Whole</title>")


def test_a_report_from_before_exhibits_json_has_its_tables(console, report):
    folder = console.results / report
    exhibits = (folder / "exhibits.json").read_text()
    (folder / "exhibits.json").unlink()
    (folder / "tables").mkdir(exist_ok=True)
    (folder / "tables" / "table-9-1.csv").write_text('a,"b, c"\n1,2\n')
    try:
        page = console.get(f"/results/{report}/").text
        assert "Table 9 1" in page
        assert '<th scope="col">b, c</th>' in page
    finally:
        shutil.rmtree(folder / "tables")
        (folder / "exhibits.json").write_text(exhibits)


def test_every_metric_goes_away_as_csv(console, result):
    """One file has a row for each run, the other a row for each metric with its interval."""
    runs = console.get(f"/results/{result}/runs.csv").content.decode("utf-8-sig")
    assert [row["seed"] for row in csv.DictReader(io.StringIO(runs))] == ["7", "8"] * 2
    summary = console.get(f"/results/{result}/summary.csv").content.decode("utf-8-sig")
    found = [row for row in csv.DictReader(io.StringIO(summary)) if row["metric"] == "confirms"]
    assert [row["policy"] for row in found] == ["SQ", "8Q-LIFO-Pri"]
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in found)
    assert console.get(f"/results/{result}/others.csv").status_code == 404


def test_the_spec_of_a_result_is_changed_and_run_again(console, result):
    page = console.get(f"/launch/changed/{result}/").text
    for said in ('value="Two in the rush"', 'name="sessions" value="300"', 'value="7"'):
        assert said in page, said
    assert f"/launch/changed/{result}/" in console.get(f"/results/{result}/").text
    form = FORM | {"title": "Changed", "policies": ["sq"], "rho": "2", "seed": "7"}
    assert "Takes about" in console.post(f"/launch/changed/{result}/predict", form).text
    assert 'class="fault"' in console.post(f"/launch/changed/{result}/", form | {"rho": "x"}).text
    launched = console.post(f"/launch/changed/{result}/", form)
    assert "/launches/" in launched.url
    assert "Changed" in launched.text


def test_a_report_has_no_spec_to_change(console, report):
    assert console.get(f"/launch/changed/{report}/").status_code == 404


def test_logs_go_away_as_csv(console, result):
    (run, *_) = sorted((console.results / result / "runs").iterdir())
    for log in ("attempts", "samples"):
        answer = console.get(f"/results/{result}/runs/{run.name}/{log}.csv")
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        table = pq.read_table(run / f"{log}.parquet")
        assert len(rows) == table.num_rows
        assert list(rows[0]) == table.column_names
    assert console.get(f"/results/{result}/runs/{run.name}/events.csv").status_code == 404
    assert console.get(f"/results/{result}/runs/none/attempts.csv").status_code == 404


def test_one_page_needs_nothing_else(console, result):
    answer = console.get(f"/results/{result}/page.html")
    assert "attachment" in answer.headers["Content-Disposition"]
    assert "Counts reconcile" in answer.text
    assert "sessions = 300" in answer.text
    assert answer.text.count("data:image/svg+xml;base64,") >= 2
    assert "<script" not in answer.text
    for address in re.findall(r'(?:src|href)="([^"]+)"', answer.text):
        assert address.startswith("data:"), address[:80]


@pytest.mark.long
def test_it_runs_again_with_its_seed(console, result):
    answer = console.post(f"/results/{result}/again")
    launch = re.search(r"/launches/([0-9a-f]+)/$", answer.url)[1]
    console.wait_until(launch, "done")
    again = console.result_of(launch)
    assert again != result
    folders = [ComparisonResult(console.results / name) for name in (result, again)]
    for one, other in zip(*(folder.whole_runs() for folder in folders), strict=True):
        assert one[0] == other[0]
        assert one[1].attempts().equals(other[1].attempts())


def test_a_result_with_one_seed_offers_five(console, result):
    assert "with 5 seeds" not in console.get(f"/results/{result}/").text
    launch = console.launch("One seed", sessions=300, seed=7, repetitions=1)
    console.wait_until(launch, "done")
    alone = console.result_of(launch)
    assert "Run it again with 5 seeds" in console.get(f"/results/{alone}/").text
    answer = console.post(f"/results/{alone}/again", {"repetitions": "many"})
    assert "repetitions" in answer.text
    assert "/launches/" not in answer.url
    answer = console.post(f"/results/{alone}/again", {"repetitions": "5"})
    launch = re.search(r"/launches/([0-9a-f]+)/$", answer.url)[1]
    console.wait_until(launch, "done")
    again = ComparisonResult(console.results / console.result_of(launch))
    assert (again.spec().seed, again.spec().repetitions) == (7, 5)


def test_the_result_list_is_searched_and_paged(console, result, report):
    def listed(query):
        text = console.get(f"/results/{query}").text
        return re.findall(r'<th scope="row"><a href="/results/([^/]+)/"', text)

    assert result in listed("?words=RUSH+8q")
    assert listed("?words=rush+sbac") == []
    assert report in listed("?words=something&engine=simulated")
    assert report not in listed("?engine=live")
    copies = [console.results / f"20250101T0000{n:02}Z-copy" for n in range(30)]
    try:
        for copy in copies:
            copy.mkdir()
            (copy / "reproduction.json").write_text("{}")
        first, second = listed("?words=copy"), listed("?words=copy&page=2")
        assert (len(first), len(second)) == (25, 5)
        assert first[0] == "20250101T000029Z-copy"
        assert not set(first) & set(second)
    finally:
        for copy in copies:
            shutil.rmtree(copy)


def test_a_result_of_an_older_version_shows_how_to_get_its_conclusion(console, result):
    """Older versions wrote no conclusion.json; the tables still show."""
    old = console.results / "20250103T000000Z-old"
    shutil.copytree(console.results / result, old)
    (old / "conclusion.json").unlink()
    try:
        page = console.get(f"/results/{old.name}/").text
        assert "NO CONCLUSION: " in page
        assert "doorbuster results draw" in page
        assert 'class="verdict"' not in page
        assert "Who sells" in page
        assert "damaged: " not in page
    finally:
        shutil.rmtree(old)


def test_a_result_without_its_spec_is_said_and_breaks_no_page(console, result):
    folder = console.results / "20260103T000000Z-bare"
    (folder / "runs").mkdir(parents=True)
    try:
        shutil.copy(console.results / result / "plan.json", folder)
        page = f"/results/{folder.name}"
        assert "This result is damaged: " in console.get(f"{page}/").text
        assert "spec.toml" in console.get(f"{page}/curves.json").json()["error"]
        for other in (
            "/results/",
            "/race/",
            f"{page}/sessions",
            f"/results/overlay?of={folder.name}",
        ):
            assert console.get(other).status_code == 200, other
    finally:
        shutil.rmtree(folder)
