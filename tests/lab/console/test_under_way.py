"""What is carried out live, whoever began it."""

import pytest

from lab.experiments.live_runs import ToldRun
from tests.lab.console.conftest import COMPARED
from tests.lab.console.streaming import first, looks, stream

BEGUN = f"Running live: {COMPARED.title}, begun at a terminal"


def test_a_run_of_a_terminal_stands_on_every_page(console, runs_of):
    first_run, *_ = runs_of(console)
    assert "Running live" not in console.get("/").text
    run = first_run()
    for path in ("/", "/launches/", "/results/"):
        assert BEGUN in console.get(path).text
    run.close()
    assert "Running live" not in console.get("/").text


def test_a_run_whose_results_are_kept_elsewhere_has_its_folders_name(console):
    run = ToldRun(console.state, {"experiment": "20261122T120000Z-elsewhere", "run": "001"})
    try:
        assert "Running live: 20261122T120000Z-elsewhere" in console.get("/").text
    finally:
        run.close()


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
        assert mark["base"]["confirms"] == began["confirms"]
        assert (began["run"]["title"], began["run"]["of"]) == (COMPARED.title, 2)
        run.close()
        ended = first(seen, lambda frame: frame["marks"], "its end")
        assert [mark["kind"] for mark in ended["marks"]] == ["end"]
        assert ended["run"] is None
        other()
        again = first(seen, lambda frame: frame["marks"], "the second run")
        assert again["run"]["words"].startswith("run 2/2: ")
