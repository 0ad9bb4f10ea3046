"""The summary of a whole run."""

import pytest

from loadgen.collector import Collector
from loadgen.options import plan_of

OPEN = {"sessions": "5", "session_rate": "1"}
CLOSED = {"closed_loop_customers": "5"}
CLIENTS = {"clients_per_set": "5", "arrivals_until_s": "60"}


def _told(given, ended):
    """Return a collector with all reports of two workers.

    `ended` of the first worker's sessions have ended, and all of the second's.
    """
    options = plan_of(given | {"attempts_file": ""})
    collector = Collector.expecting(options, "http://127.0.0.1", ["one", "two"])
    logs = {"attempts": collector.log, "connections": collector.connections}
    nothing = {name: log.columns_since(0) for name, log in logs.items()}
    for index, part in collector.parts.items():
        ended_here = part.counts["planned"] if index else ended
        collector.add(index, nothing, part.counts | {"ended": ended_here}, done=True)
    return collector


@pytest.mark.parametrize(
    ("given", "ended", "complete"),
    [
        (OPEN, 3, True),
        (OPEN, 2, False),
        (CLIENTS, 5, True),
        (CLIENTS, 4, False),
        (CLOSED, 0, True),
        (CLOSED, 30, True),
    ],
)
def test_a_run_is_complete_when_all_that_were_planned_have_ended(given, ended, complete):
    collector = _told(given, ended)
    assert collector.settled()
    assert collector.metadata()["complete"] is complete


@pytest.mark.parametrize(("given", "ended"), [(OPEN, 3), (CLIENTS, 5), (CLOSED, 30)])
def test_a_run_that_lost_a_worker_or_was_interrupted_is_not_complete(given, ended):
    collector = _told(given, ended)
    collector.interrupted = True
    assert collector.metadata()["complete"] is False
    collector = _told(given, ended)
    collector.parts[0].lost = True
    assert collector.metadata()["complete"] is False
