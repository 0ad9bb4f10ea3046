"""Shops at the same time as the console sees them: what is a lane, when there are lanes."""

from dataclasses import replace

import pytest

from gateway.policies.interface import FATES, PAGES
from lab.console.lanes import LaneLooks, Seen, lane_of
from lab.experiments import lane
from lab.experiments.lane import Lane
from lab.experiments.results import RunFolder
from runtime.settings import load
from tests.lab.console.test_frames import snapshot

COUNTS = {"gateway": {page: dict.fromkeys(FATES, 1) for page in PAGES}}


def lane_here(**other):
    found = Lane.of(load(), COUNTS, came_at=1000.0, time_scale=10.0)
    return replace(found, **other)


def test_a_lane_counts_from_the_start_of_its_run():
    found = lane_of(Seen("run", "SQ", lane_here()), snapshot())
    assert found["confirms"] == 1
    assert found["counts"]["arrived"] == 8
    assert found["counts"].keys() == set(FATES)
    assert (found["title"], found["discipline"], found["waiting"]) == ("SQ", "LIFO", 3)
    assert found["waiting_by_page"][1] == 3


def test_a_run_folder_has_its_lane_while_customers_come(tmp_path):
    folder = RunFolder(tmp_path)
    assert lane.read(folder) is None
    lane_here(gateway_admin_port=22999).write(folder)
    found = lane.read(folder)
    assert found == lane_here(gateway_admin_port=22999)
    assert found.settings(load()).gateway_admin_port == 22999
    folder.lane_file.write_text('{"host": 1}')
    assert lane.read(folder) is None


def test_without_lanes_a_frame_says_nothing_of_them():
    assert LaneLooks(load(), lambda: ()).look(1001.0) == {}


def test_a_lane_that_does_not_answer_hides_them_until_the_next_look():
    gone = Seen("run", "SQ", lane_here(gateway_admin_port=1))
    assert LaneLooks(load(), lambda: [gone]).look(1001.0) == {}


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


@pytest.fixture
def few_cpus(console):
    """A console on a machine that cannot have two shops at once, as those of tests with few."""
    if "at the same time" in console.get("/launch/lifo-pri/").text:
        pytest.skip("this machine has CPUs for several shops")
    return console


def test_where_cpus_lack_nothing_at_once_is_offered_or_taken(few_cpus):
    assert 'name="at_once"' not in few_cpus.get("/launch/lifo-pri/").text
    page = few_cpus.get("/race/").text
    assert 'name="engine"' not in page
    assert "too few processors" in page
    before = few_cpus.get("/launches/table").text.count("<tr>")
    answer = few_cpus.upload("spec", "/upload/", "my.toml", LIVE)
    assert "at_once: 2 shops of" in answer.text
    form = {"policies": ["sq", "8q-af"], "rho": "1.4", "sessions": "300", "seed": "1"}
    answer = few_cpus.post("/race/", {**form, "engine": "live"})
    assert answer.status_code == 400
    assert "engine: This machine has processors for one shop only" in answer.text
    assert few_cpus.get("/launches/table").text.count("<tr>") == before
