import pytest

from lab.analysis.cells import Got, Part, by_class
from tests.lab.attempt_tables import table

CLIENTS = table(
    # Clients 0 and 1 are the control set, 2 leaves.
    (0, 0, "Br-1", 1, 1.0, 1.0, "completed"),
    (0, 1, "Br-3", 1, 3.0, 30.0, "completed"),
    (1, 0, "Br-1", 1, 1.0, 3.0, "completed"),
    (1, 1, "file", 1, 9.0, 0.5, "dropped"),
    (2, 0, "Br-3", 1, 1.0, 4.0, "timed_out"),
    (2, 0, "Br-3", 2, 5.0, 4.0, "timed_out"),
    (2, 1, "file", 1, 9.0, 0.5, "completed"),
)


def test_each_set_is_counted_by_class():
    found = by_class(CLIENTS, 2)
    assert list(found) == [
        Part("control", "home"), Part("control", "search"), Part("control", "file"),
        Part("test", "search"), Part("test", "file"),
    ]  # fmt: skip
    home = found[Part("control", "home")]
    assert (home.served, home.latency_s, home.left) == (2, 2.0, 0)
    assert home.p95_s == pytest.approx(2.9)
    assert found[Part("control", "file")] == Got(0, None, None, 0, 1)
    assert found[Part("test", "search")] == Got(0, None, None, 2, 0)
    assert found[Part("test", "file")].served == 1
