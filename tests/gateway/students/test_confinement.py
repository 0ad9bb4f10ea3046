"""Attempts of a policy in its process to break out; each layer that holds here is tried."""

import os
import socket
from pathlib import Path

import pytest

from gateway.policies.interface import Drop, Page, Request
from gateway.students import process
from gateway.students.calls import MisbehavedError, PolicyFile
from gateway.students.confinement import LAYERS, NEEDED
from gateway.students.process import Child
from tests.gateway.students.policies import PATIENT, source

FUTEX = 202 if os.uname().machine == "x86_64" else 98
ATTEMPTS = {
    "open a file": "open('/etc/passwd')",
    "open its own source": "open(Line.__init__.__code__.co_filename)",
    "see the gateway's memory": "open(f'/proc/{TOLD}/mem', 'rb')",
    "see the gateway's settings": "open(f'/proc/{TOLD}/environ', 'rb')",
    "list a folder": "os.listdir('/')",
    "write a file": "os.open('/tmp/written-by-a-policy', os.O_WRONLY | os.O_CREAT)",
    "connect": "libc.socket(2, 1, 0)",
    "connect within the machine": "libc.socket(1, 1, 0)",
    "pair sockets": "libc.socketpair(1, 1, 0, (ctypes.c_int * 2)())",
    "fork": "os.fork()",
    "start a thread": "_thread.start_new_thread(len, ('',))",
    "start a program": "os.execv('/bin/true', ['true'])",
    "signal the gateway": "os.kill(TOLD, 0)",
    "end the gateway": "os.kill(TOLD, 9)",
    "trace the gateway": "libc.ptrace(16, TOLD, 0, 0)",
    "have more memory": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "be root": "os.setuid(0)",
    "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "sleep": "time.sleep(3600)",
    "wait for a signal": "libc.pause()",
    "wait on a futex": f"libc.syscall({FUTEX}, (ctypes.c_int * 1)(), 0, 0, None)",
    "use a keyring": "libc.syscall(250, 0, 0, 0, 0)",
    "use io_uring": "libc.syscall(425, 8, (ctypes.c_char * 120)())",
    "fill the memory": "[bytearray(10_000_000) for _ in range(1000)]",
}
REFUSED = ("PermissionError", "-1 EPERM", "can't start", "MemoryError", "not allowed")

CURIOUS = """
import sys
from gateway.students import confinement
ctypes, os, resource, signal = (sys.modules[n] for n in ("ctypes", "os", "resource", "signal"))
time, _thread = (sys.modules[n] for n in ("time", "_thread"))
libc = ctypes.CDLL(None, use_errno=True)

def attempt(code, told):
    ctypes.set_errno(0)
    try:
        found = eval(code, {**globals(), "TOLD": told})
    except BaseException as fault:
        return repr(fault)
    return f"{found} {'EPERM' if ctypes.get_errno() == 1 else ctypes.get_errno()}"
"""
CALLED = "return (Drop(request.id, attempt(request.session, request.attempt)[:150]),)"


@pytest.fixture(scope="module")
def curious():
    """Yield the answer to each attempt, and the child that made it."""
    child = Child(PolicyFile("own/curious.py", CURIOUS + source(arrival=CALLED)), PATIENT)
    child.make({"capacity": 3})
    yield child
    child.end()


def tried(child, code):
    request = Request(1, Page.HOME, 0.0, code, True, os.getpid())
    ((verdict),) = child.tell("arrival", 0.0, (request,), about=1)
    assert isinstance(verdict, Drop)
    return verdict.reason


@pytest.mark.parametrize("what", ATTEMPTS)
def test_a_curious_policy_cannot(what, curious):
    answer = tried(curious, ATTEMPTS[what])
    assert any(words in answer for words in REFUSED), answer


def test_a_lock_s_wait_is_no_sleep_but_the_end():
    """Asleep it would use no CPU, and its answers would be in time."""
    child = Child(PolicyFile("own/curious.py", CURIOUS + source(arrival=CALLED)), PATIENT)
    child.make({"capacity": 3})
    assert tried(child, "_thread.allocate_lock().acquire(True, 0.2)") == "True 0"
    with pytest.raises(MisbehavedError, match="its process ended"):
        tried(child, "[lock.acquire(True, 0.2) for lock in [_thread.allocate_lock()] * 2]")


def test_it_can_compute(curious):
    assert tried(curious, "sum(range(1000))") == "499500 0"


def test_it_is_told_nothing_of_the_gateway(curious):
    assert tried(curious, "{*os.environ} - {'PYTHONHASHSEED', 'LC_CTYPE'}") == "set() 0"
    assert tried(curious, "'gateway.service' in sys.modules") == "False 0"
    assert "site-packages" not in tried(curious, "sys.path")


def test_of_root_nothing_is_left(curious):
    if os.geteuid() != 0:
        pytest.skip("only root starts it under another account")
    status = Path(f"/proc/{curious.process.pid}/status").read_text(encoding="ascii")
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    assert set(fields["Uid"].split()) == set(fields["Gid"].split()) == {fields["Uid"].split()[0]}
    assert fields["Uid"].split()[0] != "0"
    assert fields["Groups"].strip() == ""
    assert fields["CapEff"] == fields["CapPrm"] == "0000000000000000"
    assert fields["NoNewPrivs"] == "1"


def test_it_has_the_line_and_no_terminal(curious):
    if os.geteuid() != 0:
        pytest.skip("only root may look into another account's process")
    folder = f"/proc/{curious.process.pid}/fd"
    opened = sorted(os.readlink(f"{folder}/{each}") for each in os.listdir(folder))
    assert opened[:3] == ["/dev/null"] * 3
    assert len(opened) == 4
    assert opened[3].startswith("socket:")


def test_every_layer_has_its_words(curious):
    assert set(curious.holding) <= set(LAYERS)
    assert {"privileges", "parent", *NEEDED} <= set(curious.holding)


@pytest.mark.parametrize("layer", NEEDED)
def test_without_a_layer_that_is_needed_nothing_is_run(layer, monkeypatch):
    lacks = f"confinement.confine = lambda **_: dict.fromkeys({[*{*NEEDED} - {layer}]}, 'yes')"
    program = process.PROGRAM.replace("main; ", f"main, confinement; {lacks}; ")
    monkeypatch.setattr(process, "PROGRAM", program)
    with pytest.raises(MisbehavedError, match="this machine cannot confine the policy") as refused:
        Child(PolicyFile("own/plain.py", "raise SystemExit"), PATIENT)
    assert LAYERS[layer] in str(refused.value)


def test_it_ends_with_the_line():
    child = Child(PolicyFile("own/plain.py", source()), PATIENT)
    child.line.shutdown(socket.SHUT_WR)
    assert child.process.wait(PATIENT.start_s) == 0
    child.end()


def test_it_ends_with_the_last_who_knows_it():
    child = Child(PolicyFile("own/plain.py", source()), PATIENT)
    process = child.process
    del child
    assert process.returncode == -9


def test_a_file_that_is_none_says_so():
    for text, words in (
        ("x = ", "line 1"),
        ("import nothing_of_this_name", "line 1"),
        ("x = 1", "SHEET"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit", "SystemExit"),
    ):
        with pytest.raises(MisbehavedError, match=words):
            Child(PolicyFile("own/plain.py", text), PATIENT)
