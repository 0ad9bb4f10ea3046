"""The state of the parts in the samples of a run."""

import pytest

from lab.engines.live.sampling import Age


def at(time_s, cpu_s=None, requests=0):
    load = None if cpu_s is None else {"status": {"cpu_s": cpu_s, "requests": requests}}
    return {"time_s": time_s, "load": load}


@pytest.mark.parametrize(
    ("snapshots", "who"),
    [
        ([at(10, 5), at(11, 6), at(12, 6)], ["", "", ""]),
        ([at(10, 5), at(1, 6)], ["", "gateway"]),
        ([at(10, 5), at(11, 2)], ["", "shop"]),
        ([at(10, 5, 70), at(11, 6, 8)], ["", "shop"]),  # it took so much to start
        ([at(10, 5), at(11), at(12, 6)], ["", "", ""]),  # asked in vain for a while
        ([at(10, 5), at(11), at(12, 2)], ["", "", "shop"]),
        ([at(10, 5), at(1), at(2, 6)], ["", "gateway", ""]),
    ],
)
def test_a_part_that_has_become_younger_was_started_anew(snapshots, who):
    age = Age()
    assert [age.younger(snapshot) for snapshot in snapshots] == who
