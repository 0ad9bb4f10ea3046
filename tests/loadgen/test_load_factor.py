"""Another load during a run: the same customers, earlier or later."""

import math

import pytest

from loadgen.load_factor import Pace, read
from loadgen.records.attempt_log import read_attempts, read_metadata
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process


def test_without_a_change_the_schedule_is_kept():
    pace = Pace()
    assert [pace.due_s(at) for at in (0.0, 1.5, 100.0)] == [0.0, 1.5, 100.0]


def test_from_a_change_on_gaps_shrink_by_the_factor():
    pace = Pace()
    pace.change(10.0, 2.0)
    assert pace.due_s(12.0) == 11.0
    pace.change(15.0, 0.5)  # the schedule has come to 10 + 5 × 2
    assert pace.due_s(20.0) == 15.0
    assert pace.due_s(21.0) == 17.0


def test_what_is_overdue_is_due_at_once():
    pace = Pace()
    pace.change(10.0, 4.0)
    assert pace.due_s(3.0) == 10.0


def test_nobody_arrives_at_zero_and_nobody_is_lost():
    pace = Pace()
    pace.change(5.0, 0.0)
    assert pace.due_s(6.0) == math.inf
    pace.change(105.0, 1.0)
    assert pace.due_s(6.0) == 106.0


@pytest.mark.parametrize("text", ["", "much", "-1", "11", "nan", "inf", "1 2"])
def test_what_cannot_be_meant_is_passed_over(tmp_path, text):
    path = tmp_path / "factor"
    path.write_text(text)
    assert read(path, otherwise=3.0) == 3.0


def test_a_file_that_is_not_there_says_nothing(tmp_path):
    assert read(tmp_path / "factor", otherwise=1.0) == 1.0


# 60 sessions at 1 a paper second take 3 real seconds, at ten times that 0.3.
SLOW = ("--time-scale", "20", "--session-rate", "1", "--sessions", "60", "--timeout-s", "6000")


def _first_pages(folder):
    rows = read_attempts(folder / "attempts.parquet").to_pylist()
    return [row["intended_s"] for row in rows if row["step"] == 0]


def test_a_run_takes_the_factor_of_its_file_and_says_so(tmp_path):
    plain, changed = tmp_path / "plain", tmp_path / "changed"
    with small_shop() as shop:
        for folder, factor in ((plain, "1"), (changed, "10")):
            folder.mkdir()
            (folder / "factor").write_text(factor)
            options = (*SLOW, "--load-factor-file", str(folder / "factor"), "--progress", "json")
            ended = locust_process.run(folder, "--host", shop.url, *options)
            assert ended.status == 0, ended.errors
    assert read_metadata(plain / "attempts.parquet")["load_changes"] == []
    (change,) = read_metadata(changed / "attempts.parquet")["load_changes"]
    assert change["factor"] == 10.0
    expected = [
        at if at < change["at_s"] else change["at_s"] + (at - change["at_s"]) / 10
        for at in _first_pages(plain)
    ]
    assert _first_pages(changed) == pytest.approx(expected)
