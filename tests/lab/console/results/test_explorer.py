"""The reasons why one request was served, held or turned away, in a simulated and in a live run."""

import html
import json
import re
import shutil
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import requests

from common.telemetry.trace_context import trace_id_of
from tests.lab.console.conftest import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result(console):
    launch = console.launch("Explained", sessions=700, seed=3)
    console.wait_until(launch, "done")
    return console.result_of(launch)


def run_of(console, result, policy):
    (found,) = [
        path.name
        for path in (console.results / result / "runs").iterdir()
        if f"-{policy}-" in path.name
    ]
    return found


def rows(console, result, **asked):
    answer = console.session.get(
        console.url(f"/results/{result}/attempts"), params=asked, timeout=PATIENCE_S
    )
    assert answer.status_code == 200, answer.text
    addresses = [
        html.unescape(one) for one in re.findall(r'href="([^"]*/why\?[^"]*)"', answer.text)
    ]
    return answer.text, addresses


def told(console, address):
    """Return the part of the page that the page requests after it has loaded."""
    assert "simulated again" in console.get(address).text
    answer = requests.get(console.url(address), headers={"HX-Request": "true"}, timeout=PATIENCE_S)
    assert answer.status_code == 200
    return html.unescape(answer.text)


def test_a_dropped_one_found_its_queue_full(console, result):
    _, found = rows(console, result, run=run_of(console, result, "sq"), kind="dropped")
    trace = told(console, found[0])
    assert "The policy dropped the request when it arrived: queue full (100)." in trace
    assert "In the single queue 100 of 100 places were taken; the discipline was FIFO." in trace
    assert "The policy's verdict was drop: “queue full (100)”." in trace
    assert "every attempt had the same outcome as in this result" in trace
    page = html.unescape(console.get(found[0]).text)
    assert "drop an arrival while the queue is full" in page
    assert "capacity = 100" in page


def test_a_slow_one_was_held_while_others_were_served(console, result):
    run = run_of(console, result, "sq")
    text, found = rows(console, result, run=run, kind="slow")
    took = [float(one) for one in re.findall(r"<td>([\d.]+)</td><td>completed</td>", text)]
    assert took == sorted(took, reverse=True)
    trace = told(console, found[0])
    assert re.search(r"The request was held for \d+\.\d\d s and then served\.", trace)
    assert "had arrived before it" in trace
    assert "overtook" not in trace  # FIFO
    assert re.search(
        r"The request was the oldest of \d+ requests in this queue, and the discipline was FIFO",
        trace,
    )


def test_a_purchase_went_first_by_its_priority(console, result):
    run = run_of(console, result, "8q-lifo-pri")
    text, found = rows(console, result, run=run, kind="confirmed")
    assert set(re.findall(r"<td>((?:Br|Tr)-\d)</td>", text)) == {"Tr-4"}
    trace = told(console, found[-1])
    assert re.search(r"The request was (held for|served at once)", trace)
    assert "Queue Tr-4 had the largest N × utility: 1 × 5000 = 5000" in trace


def test_only_requests_for_tr_4_are_confirmed_purchases(console, result):
    run = run_of(console, result, "sq")
    _, found = rows(console, result, run=run, kind="confirmed", type="Br-1")
    assert not found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"session": "-1"}, "session: '-1'; allowed: the number of a session"),
        ({"session": "x"}, "session: 'x'"),
        ({"kind": "best"}, "kind: 'best'; allowed: slow"),
        ({"type": "Br-9"}, "page type: 'Br-9'; allowed: Br-1"),
    ],
)
def test_what_cannot_be_asked_is_said(console, result, asked, said):
    text, found = rows(console, result, **asked)
    assert said in html.unescape(text)
    assert not found


def test_all_of_a_session_are_found(console, result):
    run = run_of(console, result, "sq")
    text, _ = rows(console, result, run=run, kind="all", session="17")
    assert set(re.findall(r"<tr><td>(\d+)</td>", text)) == {"17"}


@pytest.mark.parametrize("asked", ["session=99999999", "session=x", "step=0", ""])
def test_an_attempt_that_is_not_there(console, result, asked):
    run = run_of(console, result, "sq")
    address = f"/results/{result}/why?run={run}&step=0&attempt=1&{asked}"
    assert console.get(address).status_code == 404
    assert (
        console.get(f"/results/{result}/why?run=none&session=0&step=0&attempt=1").status_code == 404
    )


def test_a_run_of_another_version_is_not_explained(console, result):
    """The logs say something else than what this code makes of spec and seed."""
    run = run_of(console, result, "8q-lifo-pri")
    file = console.results / result / "runs" / run / "attempts.parquet"
    kept = file.read_bytes()
    table = pq.read_table(file)
    place = table.schema.get_field_index("finished_s")
    pq.write_table(table.set_column(place, "finished_s", pc.add(table["finished_s"], 0.5)), file)
    try:
        _, found = rows(console, result, run=run, kind="dropped")
        trace = requests.get(
            console.url(found[1]), headers={"HX-Request": "true"}, timeout=PATIENCE_S
        )
        assert "cannot explain the stored run" in trace.text
    finally:
        file.write_bytes(kept)


def test_of_a_live_run_it_says_what_is_not_known(console, result):
    folder = console.results / "20260101T000000Z-live"
    source = console.results / result
    shutil.copytree(source, folder)
    spec = folder / "spec.toml"
    spec.write_text(spec.read_text().replace('engine = "simulated"', 'engine = "live"'))
    run = run_of(console, folder.name, "sq")
    _, found = rows(console, folder.name, run=run, kind="slow")
    text = console.get(found[0]).text
    assert "one sample of the gateway per utilisation interval, not one per decision" in text
    assert "Logged samples near this request" in text
    times = [float(one) for one in re.findall(r"<tr><td>([\d.-]+)</td><td>FIFO</td>", text)]
    assert len(times) > 3
    events = (folder / "runs" / run / "events.jsonl").read_text().splitlines()
    assert all(json.loads(event)["event"] in text for event in events)
    shutil.rmtree(folder)


def test_an_exported_trace_is_linked(console, result):
    """The same logs under a spec that says live, with requests of a gateway that traced them."""
    folder = console.results / "20260102T000000Z-traced"
    shutil.copytree(console.results / result, folder)
    spec = folder / "spec.toml"
    spec.write_text(spec.read_text().replace('engine = "simulated"', 'engine = "live"'))
    run = run_of(console, folder.name, "sq")
    summary, attempts = (folder / "runs" / run / name for name in ("run.json", "attempts.parquet"))
    table = pq.read_table(attempts)
    ids = pa.array([f"r-{number}" for number in range(len(table))])
    at = table.schema.get_field_index("request_id")
    pq.write_table(table.set_column(at, table.schema.field(at), ids), attempts)
    _, found = rows(console, folder.name, run=run, kind="slow")
    assert "exported a request trace" not in console.get(found[0]).text
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"traced_ratio": 1.0}))
    asked = parse_qs(urlsplit(found[0]).query)
    key = [int(asked[part][0]) for part in ("session", "step", "attempt")]
    columns = (table[part].to_pylist() for part in ("session", "step", "attempt"))
    number = [list(row) for row in zip(*columns, strict=True)].index(key)
    trace = f"{trace_id_of(b'r-%d' % number):032x}"
    link = f'<a href="http://viewer.test/trace/{trace}">trace {trace}</a>'
    assert link in console.get(found[0]).text
    shutil.rmtree(folder)
