"""CPU of trees whose processes begin and end, and a file that survives the death of its writer."""

import json
import logging
import os

import pytest

from hosting.ecm.accounts import AccountFile, CpuMeter, read
from hosting.processes import TICKS_PER_S, Process


def process(pid, parent, own, children=0, *, started=1):
    return Process(pid, started, parent, own, children)


def tree(*members):
    return {one.pid: one for one in members}


def used(*looks):
    """Return the ticks used between samples."""
    meter = CpuMeter(looks[0])
    return [round(meter.used_s(look) * TICKS_PER_S) for look in looks[1:]]


def test_what_was_used_before_does_not_count():
    assert used(tree(process(2, 1, 100)), tree(process(2, 1, 107))) == [7]


def test_a_new_child_counts_in_full():
    assert used(tree(process(2, 1, 0)), tree(process(2, 1, 1), process(3, 2, 5))) == [6]


def test_an_ended_child_is_found_with_its_parent_once():
    looks = (
        tree(process(2, 1, 0)),
        tree(process(2, 1, 0), process(3, 2, 5)),
        tree(process(2, 1, 0, 8)),  # it has used 3 more and was waited for
        tree(process(2, 1, 0, 8)),
    )
    assert used(*looks) == [5, 3, 0]


def test_a_child_that_nobody_saw_is_found_as_well():
    assert used(tree(process(2, 1, 0)), tree(process(2, 1, 0, 4))) == [4]


def test_a_whole_branch_that_ended_is_found_with_who_is_left():
    looks = (
        tree(process(2, 1, 0), process(3, 2, 10), process(4, 3, 20)),
        tree(process(2, 1, 0, 33)),
    )
    assert used(*looks) == [3]


def test_what_nobody_waited_for_is_lost_but_not_taken_off():
    looks = (tree(process(2, 1, 0), process(3, 2, 10)), tree(process(2, 1, 2)))
    assert used(*looks) == [2]


def test_a_reused_number_is_another_process():
    looks = (
        tree(process(2, 1, 0), process(3, 2, 10)),
        tree(process(2, 1, 0, 11), process(3, 2, 4, started=9)),
    )
    assert used(*looks) == [1 + 4]


def test_entries_are_added_to_what_is_there(tmp_path):
    path = tmp_path / "accounts.jsonl"
    for number in range(2):
        file = AccountFile(path)
        file.add({"number": number})
        file.close()
    assert list(read(path)) == [{"number": 0}, {"number": 1}]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_torn_line_stays_the_only_one(tmp_path):
    path = tmp_path / "accounts.jsonl"
    path.write_text('{"number": 0}\n{"num')
    file = AccountFile(path)
    file.add({"number": 1})
    file.add({"number": 2})
    file.close()
    assert [entry["number"] for entry in read(path)] == [0, 1, 2]
    assert json.loads(path.read_text().splitlines()[-1]) == {"number": 2}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_said_once(caplog):
    with caplog.at_level(logging.ERROR):
        file = AccountFile("/dev/full")
        file.add({})
        file.add({})
        file.close()
    assert [record.getMessage() for record in caplog.records] == [
        "cannot write accounts to /dev/full: No space left on device"
    ]
