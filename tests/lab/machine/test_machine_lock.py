"""A lock of the whole machine, against other users of it."""

import contextlib
import os
import signal
import socket
import subprocess
import uuid

import pytest

from lab.machine import machine_lock
from tests.programs import holder, python

# The user is changed after the imports: root's folders may be closed to others.
HOLD = """
import os, sys
from lab.machine import machine_lock
if sys.argv[2]:
    os.setresuid(*[int(sys.argv[2])] * 3)
lock = machine_lock.take(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
SQUAT = """
import os, socket, sys
os.setresuid(*[int(sys.argv[2])] * 3)
lock = socket.socket(socket.AF_UNIX)
lock.bind(b"\\0doorbuster/" + sys.argv[1].encode())
print("held", flush=True)
sys.stdin.read()
"""
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
STRANGER = 65534


@pytest.fixture
def name():
    """Return the name of a lock of this test alone."""
    return f"test-{uuid.uuid4().hex}"


def held(name, script=HOLD, user=None):
    """Run another process that holds the lock; `user` becomes its user id."""
    return holder(script, name, "" if user is None else str(user))


def test_a_second_process_learns_who_holds_it(name):
    """The refusal names user and process, and the lock is free when that process is killed."""
    with held(name) as other:
        with pytest.raises(machine_lock.HeldError, match=f"process {other.pid}") as refused:
            machine_lock.take(name)
        assert refused.value.holder.is_ours
        assert refused.value.holder.user == os.geteuid()
        assert ", since " in str(refused.value)
        other.kill()
        other.wait()
        machine_lock.take(name).close()


def test_a_closed_one_is_free(name):
    """Closing the socket releases the lock."""
    machine_lock.take(name).close()
    machine_lock.take(name).close()
    assert machine_lock.holder_of(name) is None


def test_our_own_holder_is_interrupted(name):
    """A process of the same user that holds the lock receives SIGINT."""
    with held(name) as other:
        assert machine_lock.holder_of(name).interrupt()
        assert other.wait(10) == -signal.SIGINT


def test_a_process_that_does_not_hold_it_is_not_interrupted(name):
    """An outdated or invented holder is not signalled: not another process, a group or all."""
    with held(name) as other, subprocess.Popen(["sleep", "60"]) as bystander:
        holder = machine_lock.holder_of(name)
        for process in (bystander.pid, os.getpid(), 1, 0, -1, -bystander.pid):
            forged = machine_lock.Holder(holder.inode, holder.user, process)
            assert not forged.interrupt()
        stale = machine_lock.Holder(holder.inode + 10**9, holder.user, other.pid)
        assert not stale.interrupt()
        assert bystander.poll() is None
        assert other.poll() is None
        bystander.kill()


@as_root
@pytest.mark.parametrize("script", [SQUAT, SQUAT.replace("print", "lock.listen(1); print")])
def test_another_users_holder_is_named_and_left_alone(name, script):
    """The kernel names the user, whether or not the process lets others connect."""
    with held(name, script, user=STRANGER) as other:
        with pytest.raises(machine_lock.HeldError, match="user nobody, ") as refused:
            machine_lock.take(name)
        assert refused.value.holder.process == other.pid
        assert not refused.value.holder.is_ours
        assert refused.value.holder.environment() == {}
        assert not refused.value.holder.interrupt()
        assert other.poll() is None


@as_root
def test_another_user_sees_who_holds_it(name):
    """A user who may not look into the holder's process learns user and process, too."""
    look = f"os.setresuid(*[{STRANGER}] * 3); print(machine_lock.holder_of({name!r}))"
    with held(name, user=STRANGER - 1) as other:
        done = python("-c", f"import os; from lab.machine import machine_lock; {look}")
    assert done.stdout.startswith(f"user {STRANGER - 1}, process {other.pid}, since "), done.stderr


def test_many_look_ups_still_name_the_user(name):
    """A full queue of connections hides the process from other users, never the user."""
    with held(name), contextlib.ExitStack() as asked:
        with contextlib.suppress(BlockingIOError):
            while True:
                one = asked.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(b"\0doorbuster/" + name.encode())
        assert machine_lock.holder_of(name).is_ours
