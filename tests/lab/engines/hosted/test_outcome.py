"""The fates of a hosted application's customers, on given rows."""

import numpy as np
import pytest

from lab.engines.hosted.outcome import (
    assigned,
    by_second,
    first_opened_s,
    page_response_s,
    session_fates,
)
from lab.errors import ExperimentError
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt, not_generated
from loadgen.records.connection_log import ConnectionLog, OpenedConnection


def attempts(*rows):
    log = AttemptLog()
    for row in rows:
        log.append(row)
    return log.table()


def connections(*rows):
    log = ConnectionLog()
    for row in rows:
        log.append(OpenedConnection(*row))
    return log.table()


def asked(session, step, outcome, page="Br-1", attempt=1, due_s=0.0, took_s=1.0):
    ends_s = None if outcome == "not_generated" else due_s + took_s
    return Attempt(session, step, page, attempt, due_s, due_s, ends_s, 10.0, outcome)


def test_each_session_has_one_fate():
    rows = attempts(
        asked(0, 0, "completed"),
        asked(0, 0, "completed", "image"),
        asked(1, 0, "refused"),
        not_generated(1, 1, "Br-2"),
        asked(2, 0, "completed"),
        asked(2, 1, "timed_out"),
        asked(2, 1, "timed_out", attempt=2),
        not_generated(2, 2, "Br-2"),
        asked(3, 0, "completed"),
        not_generated(3, 1, "Br-2"),  # cut at the end of the run
        asked(4, 0, "failed"),
        asked(5, 0, "timed_out"),
        asked(5, 0, "completed", attempt=2),  # came back and got it
        not_generated(6, 0, "Br-1"),  # cut before its first answer
        asked(7, 0, "completed"),
        asked(7, 1, "failed"),  # its second connection was refused
    )
    opened = connections(
        *((session, 0.0, "new", 0.1) for session in (0, 2, 3, 4, 5, 6, 7)),
        (1, 0.0, "refused", 0.1),
        (7, 9.0, "refused", 0.1),
    )
    assert session_fates(rows, opened) == {
        "completed": 2,
        "refused": 2,
        "timed_out": 1,
        "failed": 1,
        "under_way": 2,
    }


def test_a_session_comes_when_it_first_knocks():
    opened = connections((1, 7.0, "resumed", 0.1), (0, 0.5, "new", 0.1), (1, 2.5, "new", 0.1))
    assert list(first_opened_s(opened)) == [0.5, 2.5]


def test_what_ends_after_the_run_belongs_to_no_second():
    assert list(by_second(np.array([0.0, 0.9, 1.0, 2.5, 3.1]), 3)) == [2.0, 1.0, 1.0]


def test_response_times_are_those_of_pages_that_came():
    rows = attempts(
        asked(0, 0, "completed", due_s=3.0, took_s=2.0),
        asked(0, 0, "completed", "image", due_s=5.0, took_s=9.0),
        asked(1, 0, "timed_out", took_s=10.0),
    )
    assert list(page_response_s(rows)) == [2.0]


def entry(time_s, **processors):
    named = [{"application": name, "assigned": value} for name, value in processors.items()]
    return {"time_s": time_s, "applications": named}


def test_the_accounts_say_what_was_assigned_at_each_second():
    entries = [entry(1000.0, a=2.0, b=0.0), entry(1000.2, a=0.5), entry(1000.4, a=1.5)]
    # A run that began 0.15 s (1.5 paper seconds) before the first entry, which is written at the
    # end of its interval; the second one's is from 1.5 to 3.5 paper seconds.
    found = assigned(entries, "a", began_at=999.85, time_scale=10.0, seconds=8)
    assert list(found) == [2.0, 2.0, 0.5, 0.5, 1.5, 1.5, 1.5, 1.5]
    with pytest.raises(ExperimentError, match="no entry for c"):
        assigned(entries, "c", 999.9, 10.0, 3)
