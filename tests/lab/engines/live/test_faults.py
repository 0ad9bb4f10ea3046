"""Faults on purpose, found in the samples of a run."""

from lab.engines.live.faults import Faults, words


def at(left_s, times):
    return {"load": {"status": {"slow_database": {"left_s": left_s, "times": times}}}}


def faults(*looks):
    found = Faults()
    for time_s, snapshot in looks:
        found.looked(time_s, snapshot)
    return found


def test_a_run_without_faults_has_none():
    """Faults of earlier runs do not count, nor a shop that says nothing."""
    assert faults((0, at(0, 3)), (5, {"load": None}), (10, at(0, 3))).found == []


def test_a_fault_has_a_begin_and_an_end():
    found = faults((0, at(0, 0)), (5, at(90, 1)), (10, at(85, 1)), (15, at(99, 2)), (20, at(0, 2)))
    assert words(found.as_dicts()) == "the database was slow from 0 s to 20 s"
    assert found.ends == found.found


def test_a_fault_between_two_samples_is_found():
    found = faults((0, at(0, 0)), (5, at(0, 1)), (10, at(50, 2)))
    assert words(found.as_dicts()) == (
        "the database was slow from 0 s to 5 s; the database was slow from 5 s to the end"
    )
