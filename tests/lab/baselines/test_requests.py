from lab.baselines.requests import Ended, complete

BEGAN_AT = 1000.0
ENDED = [
    Ended("Br-1", "answered", 1000.1, 1000.3, 1000.6),
    Ended("Br-1", "dropped", 1000.2, None, 1000.7),
    Ended("Tr-4", "cancelled", 1000.2, 1000.2, 1000.9),
    Ended("other", "answered", 1000.0, 1000.0, 1000.1),
]


def rows(*times_s, waiting=None):
    return [{"time_s": time_s, "waiting": waiting} for time_s in times_s]


def test_the_log_tells_who_waited_when():
    found = rows(0.5, 2.5, 5.0, 8.0)
    complete(found, ENDED, BEGAN_AT, time_scale=10.0)
    assert [row["waiting_Br-1"] for row in found] == [0, 2, 1, 0]
    assert [row["waiting_Tr-4"] for row in found] == [0, 0, 0, 0]
    assert [row["arrived_total"] for row in found] == [0, 3, 3, 3]
    assert [row["dispatched_total"] for row in found] == [0, 1, 2, 2]
    assert [row["waiting"] for row in found] == [0, 2, 1, 0]


def test_what_the_proxy_said_itself_stays():
    found = rows(2.5, waiting=5)
    complete(found, ENDED, BEGAN_AT, time_scale=10.0)
    assert found[0]["waiting"] == 5
