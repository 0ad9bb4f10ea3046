"""The lock for live runs, with other processes that hold it."""

import os
import uuid

import pytest

from lab.errors import ExperimentError
from lab.machine.lock import live_run_lock
from tests.programs import holder

HOLD = """
import sys
from lab.machine.lock import live_run_lock
with live_run_lock():
    print("held", flush=True)
    sys.stdin.read()
"""
SQUAT = """
import os, sys
from lab.machine import machine_lock
os.environ["DOORBUSTER_GIVES_WAY"] = "1"
os.setresuid(65534, 65534, 65534)
lock = machine_lock.take(os.environ["DOORBUSTER_LIVE_RUN_LOCK"])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def own_lock(monkeypatch):
    """A lock of this test alone, whatever runs on this machine."""
    monkeypatch.setenv("DOORBUSTER_LIVE_RUN_LOCK", f"test-{uuid.uuid4().hex}")


@pytest.mark.usefixtures("own_lock")
def test_one_live_run_at_a_time_and_the_holder_is_named():
    """The refusal names user and process; the lock of a killed run is free."""
    with holder(HOLD) as other:
        with pytest.raises(ExperimentError, match=f"process {other.pid}, since"), live_run_lock():
            pass
        assert other.poll() is None
        other.kill()
        other.wait()
        with live_run_lock():
            pass


@pytest.mark.usefixtures("own_lock")
def test_a_run_that_gives_way_is_interrupted_and_waited_for():
    """A run of this user that gives way receives SIGINT, and this run holds the machine next."""
    with holder(HOLD, DOORBUSTER_GIVES_WAY="1") as other:
        with live_run_lock():
            assert other.wait(10) != 0
        assert "KeyboardInterrupt" in other.stderr.read()


@pytest.mark.usefixtures("own_lock")
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_another_users_run_is_named_and_never_signalled():
    """Another user can never make a live run signal a process, not even a run of root."""
    with holder(SQUAT, DOORBUSTER_GIVES_WAY="1") as other:
        words = f"user nobody, process {other.pid}, .* ask nobody to stop it"
        with pytest.raises(ExperimentError, match=words), live_run_lock():
            pass
        assert other.poll() is None
