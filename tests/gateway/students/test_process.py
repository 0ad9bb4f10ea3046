"""A child process from its parent's side: the time limits for requests and for its end."""

import os
import signal
import time
from types import SimpleNamespace

import pytest

from gateway.students import process
from gateway.students.calls import MisbehavedError, PolicyFile
from gateway.students.process import Child
from tests.gateway.students.policies import PATIENT, source

PATIENCE_S = 240.0


@pytest.fixture
def child():
    found = Child(PolicyFile("own/plain.py", source()), PATIENT)
    yield found
    found.end()


class SlowLine:
    """A line that takes 3 s of `clock` to send a request, and answers at once."""

    def __init__(self, clock):
        self._clock = clock
        self.limits_s = []

    def settimeout(self, limit_s):
        self.limits_s.append(limit_s)

    def sendall(self, content):
        self._clock.now_s += 3.0

    def recv(self, size):
        return process.wire.packed([])

    def close(self):
        pass


@pytest.mark.parametrize(("limit_s", "limits_s"), [(5.0, [5.0, 2.0]), (3.0, [3.0])])
def test_asking_and_answer_have_one_deadline(limit_s, limits_s, child, monkeypatch):
    clock = SimpleNamespace(now_s=100.0)
    line = SlowLine(clock)
    monkeypatch.setattr(child, "line", line)
    monkeypatch.setattr(process.time, "monotonic", lambda: clock.now_s)
    if len(limits_s) == 2:
        assert child.ask(["waiting"], limit_s, "waiting()") == []
    else:
        with pytest.raises(MisbehavedError, match="did not return within 3 s"):
            child.ask(["waiting"], limit_s, "waiting()")
    monkeypatch.undo()
    assert line.limits_s == limits_s


def test_the_whole_start_has_one_deadline(child, monkeypatch):
    now_s = child.begun_s + PATIENT.start_s
    monkeypatch.setattr(process.time, "monotonic", lambda: now_s)
    with pytest.raises(MisbehavedError, match=r"make\(\) did not return within 240 s"):
        child.make({"capacity": 3})


def test_who_cannot_be_killed_is_not_waited_for(child, monkeypatch):
    """This is the case of a root gateway without CAP_KILL: the child is another account's."""

    def refused():
        raise PermissionError

    theirs = child.process
    os.kill(theirs.pid, signal.SIGSTOP)  # nor does it end by itself
    monkeypatch.setattr(theirs, "kill", refused)
    monkeypatch.setattr(process, "KILLED_WITHIN_S", 2 * PATIENCE_S)
    began_s = time.monotonic()
    child.end()
    assert theirs.returncode is None
    assert time.monotonic() - began_s < PATIENCE_S
    os.kill(theirs.pid, signal.SIGKILL)
    while theirs.returncode is None:
        assert time.monotonic() - began_s < PATIENCE_S
        time.sleep(0.01)
    assert theirs.returncode == -9
