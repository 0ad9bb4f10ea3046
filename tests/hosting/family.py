"""Processes that follow a test's commands, and a separate CPU manager."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from common import cpus
from gateway.tls.processor_protocol import CpusRequest, Register, from_manager, written
from hosting.ecm.command import ask_status
from tests.waiting import until

REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 240.0

# A line is a command, the answer to which is a line; at the end of its input it ends. Children
# end with it: they read from a pipe of which only it has the other end.
PROGRAM = """
import os, signal, sys, threading, time
mine, theirs = os.pipe()

def burn(seconds):
    while time.process_time() < seconds:
        pass

def fork(then):
    pid = os.fork()
    if pid == 0:
        os.close(theirs)
        then()
        os._exit(0)
    return pid

def breed():
    while not done.is_set():
        os.waitpid(fork(lambda: None), 0)

done = threading.Event()
pause = threading.Event()
for line in sys.stdin:
    match line.split():
        case ["fork"]:
            print(fork(lambda: os.read(mine, 1)))
        case ["thread"]:
            thread = threading.Thread(target=pause.wait, daemon=True)
            thread.start()
            print(thread.native_id)
        case ["burn", seconds]:  # in all, itself
            burn(float(seconds))
            print(time.process_time())
        case ["burn-in-child", seconds]:
            os.waitpid(fork(lambda: burn(float(seconds))), 0)
            print("done")
        case ["grandchild"]:  # the pids of a child and of its child
            a, b = os.pipe()
            def middle():
                os.write(b, str(fork(lambda: os.read(mine, 1))).encode())
                os.read(mine, 1)
            child = fork(middle)
            print(child, os.read(a, 20).decode())
        case ["kill", pid]:
            os.kill(int(pid), signal.SIGKILL)
            os.waitpid(int(pid), 0)
            print("done")
        case ["breed"]:
            threading.Thread(target=breed, daemon=True).start()
            print("done")
    sys.stdout.flush()
done.set()
"""


class Family:
    """A process with children and threads on demand."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.pid = self.process.pid

    def tell(self, command):
        """Send a command; return the answer."""
        self.process.stdin.write(command + "\n")
        return self.process.stdout.readline().strip()

    def fork(self):
        """Start a child; return its pid."""
        return int(self.tell("fork"))

    def grandchild(self):
        """Start a child that starts a child; return both pids."""
        return tuple(map(int, self.tell("grandchild").split()))

    def thread(self):
        """Start a thread; return its id."""
        return int(self.tell("thread"))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
"""The processors that the tests divide; a single one where there is only one."""


@contextmanager
def families(count=1):
    """Yield `count` families, which end with the block."""
    made = []
    try:
        for _ in range(count):
            made.append(Family())
        yield made
    finally:
        for one in made:
            one.kill()


def cpus_of(*pids):
    """Return the sets of CPUs (as tuples) of these processes' threads, as /proc shows them."""
    found = set()
    for status in (file for pid in pids for file in Path(f"/proc/{pid}/task").glob("*/status")):
        for line in status.read_text().splitlines():
            if line.startswith("Cpus_allowed_list:"):
                found.add(cpus.parse(line.split()[1]))
    return found


class Talk:
    """A connection to a manager, by which a test registers."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")

    def say(self, *messages):
        """Send messages; bytes are sent unchanged."""
        data = b"".join(m if isinstance(m, bytes) else written(m) for m in messages)
        self.socket.sendall(data)

    def hear(self):
        """Return the next message; None at the end."""
        line = self.lines.readline()
        return from_manager(line) if line else None

    def hear_until(self, accepts):
        """Return the first message for which `accepts` is true."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            message = self.hear()
            assert message is not None, "the manager closed the connection"
            if accepts(message):
                return message
        raise AssertionError("it never came")

    def close(self):
        self.lines.close()
        self.socket.close()


class Ecm:
    """A running manager."""

    def __init__(self, folder, *, on, interval_s=0.05, sharing="both", metrics_port=None):
        self.path = folder / "ecm.sock"
        self.accounts = folder / "accounts.jsonl"
        self.command = [
            *(sys.executable, "-m", "hosting", "ecm", "--socket", str(self.path)),
            *("--cpus", on, "--interval-s", str(interval_s), "--sharing", sharing),
            *("--accounts", str(self.accounts)),
            *(("--metrics-port", str(metrics_port)) if metrics_port is not None else ()),
        ]
        self.errors = folder / "errors.txt"
        self.talks = []
        self.start()

    def start(self):
        """Start it, and again after its end."""
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(self.command, cwd=REPOSITORY, stderr=errors)
        self.until(self.answers)

    def answers(self):
        try:
            return self.status() is not None
        except OSError:
            return False

    def status(self):
        return json.loads(json.dumps(ask_status(self.path, PATIENCE_S)))

    def applications(self):
        """Return name → the manager's status of the application."""
        return {one["application"]: one for one in self.status()["applications"]}

    def until(self, condition):
        """Wait until the condition holds; fail if the manager ends before."""

        def holds():
            assert self.process.poll() is None, "the CPU manager has ended"
            return condition()

        until(holds)

    def talk(self):
        talk = Talk(self.path)
        self.talks.append(talk)
        return talk

    def register(self, name, family, requested=None, *, priority=1.0, processors=None):
        """Return a connection over which `family` is registered and requests processors."""
        talk = self.talk()
        talk.say(Register(name, priority, family.pid, processors))
        if requested is not None:
            talk.say(CpusRequest(requested))
        return talk

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        for talk in self.talks:
            talk.close()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.kill()


@contextmanager
def manager(**options):
    """Yield a running manager with separate files, which ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="ecm-"))  # short: a socket's path is limited
    try:
        ecm = Ecm(folder, **options)
        try:
            yield ecm
        finally:
            ecm.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
