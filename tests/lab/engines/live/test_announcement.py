"""Live runs under way, as other processes see them."""

import subprocess
import sys

from lab.engines.live.announcement import (
    FOLDER,
    RunAnnouncement,
    measuring,
    told_measuring,
    under_way,
)
from runtime.settings import REPOSITORY

FACTS = {"experiment": "20261121T120000Z-rush", "run": "001-sq-rho1.4-seed1", "policy": "sq"}


def test_a_run_is_there_from_its_beginning_to_its_end(tmp_path):
    assert under_way(tmp_path) == []
    run = RunAnnouncement(tmp_path, FACTS)
    other = RunAnnouncement(tmp_path, {**FACTS, "run": "002"})
    assert under_way(tmp_path) == [
        {**FACTS, "customers": {}},
        {**FACTS, "run": "002", "customers": {}},
    ]
    other.close()
    run.tell({"started": 1000, "outcomes": {"completed": 900}})
    run.tell({"started": 1})  # shorter than before
    run.tell({"started": 22})
    assert under_way(tmp_path) == [{**FACTS, "customers": {"started": 22}}]
    run.close()
    run.close()
    run.tell({"started": 3})
    assert under_way(tmp_path) == []
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_measurement_is_told_and_is_no_run(tmp_path):
    with told_measuring(tmp_path, "A rush", 60.0):
        assert under_way(tmp_path) == []
        assert measuring(tmp_path)["measures"] == "A rush"
    assert measuring(tmp_path) is None


def test_the_run_of_a_process_that_was_killed_is_none(tmp_path):
    script = f"""
import sys, pathlib
from lab.engines.live.announcement import RunAnnouncement
run = RunAnnouncement(pathlib.Path({str(tmp_path)!r}), {FACTS!r})
print("told", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=REPOSITORY, stdin=-1, stdout=-1, text=True
    ) as process:
        assert process.stdout.readline() == "told\n"
        assert len(under_way(tmp_path)) == 1
        process.kill()
        process.wait()
    assert under_way(tmp_path) == []
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_run_that_ends_leaves_the_announcement_of_its_repetition(tmp_path):
    before, again = RunAnnouncement(tmp_path, FACTS), RunAnnouncement(tmp_path, FACTS)
    before.close()
    assert under_way(tmp_path) == [{**FACTS, "customers": {}}]
    again.close()
    assert under_way(tmp_path) == []


def test_what_a_killed_process_left_unfinished_is_written_over(tmp_path):
    (tmp_path / FOLDER).mkdir()
    name = f"{FACTS['experiment']}.{FACTS['run']}.new"
    (tmp_path / FOLDER / name).write_text("x" * 1000)
    run = RunAnnouncement(tmp_path, FACTS)
    assert under_way(tmp_path) == [{**FACTS, "customers": {}}]
    run.close()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_where_nothing_can_be_written_the_run_goes_on(tmp_path):
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    run = RunAnnouncement(tmp_path, FACTS)
    run.tell({"started": 1})
    run.close()
    assert under_way(tmp_path) == []
