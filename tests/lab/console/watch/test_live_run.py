"""The live run, however it was started."""

import pytest

from lab.engines.live.announcement import RunAnnouncement, told_measuring
from lab.results.comparison import ComparisonResult
from tests.lab.console.conftest import COMPARED
from tests.lab.console.streaming import first, looks, stream

BEGUN = f"Running live: {COMPARED.title}, started at a terminal"


def test_a_run_of_a_terminal_stands_on_every_page(console, runs_of):
    first_run, *_ = runs_of(console)
    assert "Running live" not in console.get("/").text
    run = first_run()
    for path in ("/", "/launches/", "/results/"):
        assert BEGUN in console.get(path).text
    run.close()
    assert "Running live" not in console.get("/").text


def test_a_run_whose_results_are_kept_elsewhere_has_its_folders_name(console):
    run = RunAnnouncement(console.state, {"experiment": "20261122T120000Z-elsewhere", "run": "001"})
    try:
        assert "Running live: 20261122T120000Z-elsewhere" in console.get("/").text
    finally:
        run.close()


def test_a_load_is_applied_once_the_customers_have_it(console, runs_of):
    first_run, *_ = runs_of(console)
    said = console.post("/watch/load", {"load_factor": "2"}).text
    assert "No run is in progress, so no customers arrive." in said
    run = first_run()
    for plan in console.results.glob("*/plan.json"):
        folder = ComparisonResult(plan.parent)
        for planned in folder.plan():
            folder.run(planned).path.mkdir(parents=True, exist_ok=True)
    run.tell({"planned": 100, "started": 60, "load_changes": [{"at_s": 5.0, "factor": 2.0}]})
    assert "Applied at " in console.post("/watch/load", {"load_factor": "2"}).text
    run.tell({"planned": 100, "started": 100, "load_changes": []})
    said = console.post("/watch/load", {"load_factor": "3"}).text
    assert "All customers of this run have arrived" in said
    assert "Applied at " not in said
    run.close()


def test_a_measurement_of_a_terminal_is_told(console):
    with told_measuring(console.state, COMPARED.title, 60.0):
        assert BEGUN in console.get("/").text
    assert "Running live" not in console.get("/").text


@pytest.mark.long
def test_runs_of_a_terminal_are_told_and_marked(lab, runs_of):
    one, other = runs_of(lab)
    with stream(lab.url("/watch/stream")) as events:
        seen = looks(events)
        run = one()
        began = first(seen, lambda frame: frame["marks"], "the first run")
        (mark,) = began["marks"]
        assert (mark["kind"], mark["text"]) == ("start", began["run"]["words"])
        assert mark["text"].startswith("run 1/2: ")
        assert (began["confirms"], began["sold"]["revenue_cents"]) == (0, 0)
        assert (began["run"]["title"], began["run"]["of"]) == (COMPARED.title, 2)
        run.close()
        ended = first(seen, lambda frame: frame["marks"], "its end")
        assert [mark["kind"] for mark in ended["marks"]] == ["end"]
        assert ended["run"] is None
        other()
        again = first(seen, lambda frame: frame["marks"], "the second run")
        assert again["run"]["words"].startswith("run 2/2: ")
