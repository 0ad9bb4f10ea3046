"""Tests of students' policies run in a confined process, whatever they try."""

import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.students import confinement
from lab.students import own_tests
from lab.students.own_tests import Limits
from lab.students.template import write_policy
from runtime.settings import REPOSITORY
from tests.programs import run
from tests.waiting import until

pytestmark = pytest.mark.slow


DOORBUSTER = Path(sys.executable).with_name("doorbuster")
PATIENT = Limits(wall_s=240.0)
HEAD = """
import ctypes, fcntl, os, socket, subprocess, threading
import pytest

SECRETS = {secrets!r}
PORT = {port}
TMPDIR = os.environ["TMPDIR"]
libc = ctypes.CDLL(None, use_errno=True)

def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def room():
    return (ctypes.c_char * 128)()

"""
ATTEMPTS = {
    "read the passwords": "open(SECRETS)",
    "read them by a link": "os.symlink(SECRETS, TMPDIR + '/link') or open(TMPDIR + '/link')",
    "link to them": "os.link(SECRETS, TMPDIR + '/link')",
    "list the state folder": "os.listdir(os.path.dirname(SECRETS))",
    "read the accounts": "open('/etc/passwd')",
    "read the starter's environment": "open(f'/proc/{os.getppid()}/environ')",
    "read the starter's memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "list everything": "os.listdir('/')",
    "connect to PostgreSQL, Redis, the admin API": "socket.create_connection(('127.0.0.1', PORT))",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "connect within the machine": "socket.socket(socket.AF_UNIX)",
    "fork": "os.fork()",
    "start a thread": "threading.Thread(target=len).start()",
    "start a program": "subprocess.run(['/bin/true'])",
    "become a program": "os.execv('/bin/true', ['true'])",
    "signal the starter": "os.kill(os.getppid(), 9)",
    "signal everybody": "os.kill(-1, 15)",
    "have the starter signalled": "fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid())",
    "type for the user": "fcntl.ioctl(1, 0x5412, b'x')",
    "write beside the test": "open(__file__ + '.new', 'w')",
    "write into a package": f"open({str(REPOSITORY / 'gateway' / 'x.py')!r}, 'w')",
    "overwrite the test": "open(__file__, 'w')",
    "empty the test": "os.truncate(__file__, 0)",
    "empty it while reading": "os.open(__file__, os.O_RDONLY | os.O_TRUNC)",
    "empty it while neither": "os.open(__file__, 3 | os.O_TRUNC)",
    "remove the test": "os.remove(__file__)",
    "change a mode": "os.chmod(__file__, 0o777)",
    "change times": "os.utime(__file__)",
    "be another account": "os.setuid(1)",
    "slow the starter down": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "limit the starter": "call(302, os.getppid(), 7, room(), 0)",
    "use io_uring": "call(425, 8, room())",
    "open by another call": "call(437, -100, b'/etc/passwd', room(), 24)",
    "trace the starter": "call(101 if os.uname().machine == 'x86_64' else 117, 16, os.getppid())",
}
TEST = """
def test_{number}():
    with pytest.raises((OSError, RuntimeError, subprocess.SubprocessError)):
        {code}
"""


class Ran:
    """One call, with what it has shown."""

    def __init__(self, folder, *arguments, limits=PATIENT):
        self.shown = ""
        self.status = own_tests.run(arguments, folder, limits, self._show)

    def _show(self, text):
        self.shown += text


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "own"
    found.mkdir()
    return found


def written(folder, text, name="test_mine.py"):
    (folder / name).write_text(text)
    return folder


def test_the_template_s_tests_pass(folder):
    write_policy("quiet-door", folder)
    ran = Ran(folder, "-q")
    assert ran.status == 0, ran.shown
    assert "3 passed" in ran.shown


def test_a_hostile_test_gets_nowhere(folder, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    secrets = state / "secrets.json"
    secrets.write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = HEAD.format(secrets=str(secrets), port=server.getsockname()[1])
        for number, code in enumerate(ATTEMPTS.values()):
            text += TEST.format(number=number, code=code)
        ran = Ran(written(folder, text), "-q", "--tb=short")
    assert ran.status == 0, ran.shown
    assert f"{len(ATTEMPTS)} passed" in ran.shown
    assert [path.name for path in folder.iterdir()] == ["test_mine.py"]
    assert (folder / "test_mine.py").read_text() == text


def test_conftest_and_plugins_are_confined_too(folder):
    """Code that pytest imports before any test runs in the same process."""
    (folder / "mine.py").write_text("import os\nfor name in ('/', '/etc'):\n    os.listdir(name)\n")
    (folder / "conftest.py").write_text("import mine\n")
    ran = Ran(written(folder, "def test_it(): pass\n"), "-q")
    assert ran.status != 0
    assert "PermissionError" in ran.shown


def test_a_test_may_write_and_import(folder):
    """The folder of pytest's tmp_path is writable, and gone afterwards; the simulator is there."""
    text = """
import os
import simulator.scenario, loadgen.workload.sessions

def test_it(tmp_path):
    (tmp_path / "x").write_text("hello")
    (tmp_path / "x").rename(tmp_path / "y")
    assert (tmp_path / "y").read_text() == "hello"
    print("at", tmp_path)
    print("with", sorted(os.environ))
"""
    os.environ["DOORBUSTER_TEST_SECRET"] = "hunter2"
    try:
        ran = Ran(written(folder, text), "-q", "-s")
    finally:
        del os.environ["DOORBUSTER_TEST_SECRET"]
    assert ran.status == 0, ran.shown
    place = ran.shown.partition("at ")[2].splitlines()[0]
    assert place.startswith("/")
    assert not os.path.exists(place)
    assert "DOORBUSTER" not in ran.shown


@pytest.mark.parametrize(
    ("code", "limits", "words"),
    [
        ("while True: pass", replace(PATIENT, wall_s=2.0), "took more than 2 s"),
        ("import time; time.sleep(3600)", replace(PATIENT, wall_s=2.0), "took more than 2 s"),
        ("while True: pass", replace(PATIENT, cpu_s=1), "used more than 1 s of CPU"),
        ("[open(f'{tmp_path}/{n}', 'w').write('x' * 10**6) for n in range(9)]; "
         "import time; time.sleep(3600)", replace(PATIENT, written_bytes=5 * 2**20),
         "wrote more than 5 MiB"),
        ("[open(f'{tmp_path}/{n}', 'w').close() for n in range(60)]; "
         "import time; time.sleep(3600)", replace(PATIENT, files=50), "or 50 files"),
        ("import os\n    while True: os.write(1, b'x' * 10**5)", PATIENT, "printed more than"),
    ],
)  # fmt: skip
def test_what_never_ends_is_ended(code, limits, words, folder):
    """By real time, by CPU, by what it writes, by what it prints; and the reason is printed."""
    text = f"def test_it(tmp_path):\n    {code}\n"
    ran = Ran(written(folder, text), "-q", "-s", limits=limits)
    assert ran.status == 1
    assert f"The tests were ended: they {words}" in ran.shown or words in ran.shown.splitlines()[-1]


def test_memory_is_limited(folder):
    text = "def test_it():\n    [bytearray(10**8) for _ in range(100)]\n"
    ran = Ran(written(folder, text), "-q")
    assert ran.status == 1
    assert "MemoryError" in ran.shown


def test_what_it_prints_has_no_control_characters(folder):
    ran = Ran(written(folder, "def test_it(): print('a\\x1b]0;title\\x07\\tb')\n"), "-q", "-s")
    assert "a�]0;title�\tb" in ran.shown
    assert "\x1b" not in ran.shown


@pytest.mark.parametrize("layer", confinement.NEEDED_BY_TESTS)
def test_without_a_layer_that_is_needed_no_test_is_run(layer, folder, monkeypatch):
    lacks = [one for one in confinement.NEEDED_BY_TESTS if one != layer]
    change = f"confinement.confine_tests = lambda **_: dict.fromkeys({lacks}, 'yes')"
    program = own_tests.PROGRAM.replace(
        "import _become;", f"import _become, confinement; {change};"
    )
    monkeypatch.setattr(own_tests, "PROGRAM", program)
    ran = Ran(written(folder, "raise SystemExit('it was run')\n"))
    assert ran.status == own_tests.UNCONFINED
    assert ran.shown.startswith("No test was run, because this machine cannot confine the tests.")
    assert confinement.OF_TESTS[layer] in ran.shown
    assert "it was run" not in ran.shown


def test_the_command_passes_arguments_and_the_exit_status(folder):
    """`doorbuster policy test` takes pytest's options; a failure is a status of 1."""
    written(folder, "def test_a(): pass\ndef test_b(): assert False\n")
    command = [DOORBUSTER, "policy", "test", "-q"]

    def ran(*arguments):
        return run(*command, *arguments, cwd=folder.parent)

    assert ran("-k", "test_a").returncode == 0
    failed = ran("own/test_mine.py::test_b")
    assert failed.returncode == 1
    assert "1 failed" in failed.stdout


def test_it_ends_with_the_command(folder):
    text = "import os, time\ndef test_it():\n    print('pid', os.getpid(), flush=True)\n"
    written(folder, text + "    time.sleep(3600)\n")
    process = subprocess.Popen(
        [DOORBUSTER, "policy", "test", "-q", "-s"],
        cwd=folder.parent,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    stop = threading.Timer(240.0, process.kill)
    stop.start()
    assert process.stdout is not None
    line = next(one for one in iter(process.stdout.readline, "") if one.startswith("pid "))
    process.kill()
    process.wait()
    process.stdout.close()
    stop.cancel()
    assert until(lambda: not os.path.exists(f"/proc/{line.split()[1]}/status"))
