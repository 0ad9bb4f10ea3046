"""The parent's control of the child process: start, calls and end. The child gets an interpreter
without site-packages, an environment with one variable, and no terminal. Apart from /dev/null, the
connection to its parent is its only open file. The hash seed is fixed, so that a policy that
iterates over a set of texts decides the same in every process.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from common import cpus
from gateway.plain_json import Most
from gateway.students import confinement, wire
from gateway.students.calls import Calls, MisbehavedError, PolicyFile, printable, read, unfaulty
from gateway.students.limits import OF_READING, Limits

_ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from gateway.students.child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
KILLED_WITHIN_S: Final = 5.0
_ENDS_WITHIN_S: Final = 0.05
_RECEIVED_BYTES: Final = 65_536
T = TypeVar("T")


class Confined:
    """One confined process.

    The process ends when `end` is called, when this object is garbage-collected, or when the
    interpreter ends. Every method except `end` may raise MisbehavedError, after which the process
    cannot be used again.
    """

    def __init__(self, limits: Limits) -> None:
        """Start and confine the process within `limits.start_s`."""
        self._limits = limits
        self.begun_s = time.monotonic()
        try:
            ours, theirs = socket.socketpair()
        except OSError as fault:
            raise _no_process(fault) from None
        with theirs:
            command = (sys.executable, "-P", "-s", "-S", "-B", "-c", PROGRAM)
            try:
                self.process = subprocess.Popen(
                    [*command, str(_ROOT), str(theirs.fileno()), str(os.getpid())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"PYTHONHASHSEED": "0"},
                    cwd="/",
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as fault:
                ours.close()
                raise _no_process(fault) from None
        self.line = ours
        self.end: Callable[[], object] = weakref.finalize(self, _end, self.process, ours)
        """A function that ends the process in every case; repeated calls are harmless."""
        try:
            self.holding = self._confine()
        except MisbehavedError:
            self.end()
            raise

    def _confine(self) -> Mapping[str, str]:
        limits = self._limits
        confined = {"cpu_s": limits.cpu_s, "memory_bytes": limits.memory_bytes}
        holding = _texts(self.ask(confined, limits.start_s, "its process", self.begun_s))
        lacks = [confinement.LAYERS[name] for name in confinement.NEEDED if name not in holding]
        if lacks:
            raise MisbehavedError(
                f"this machine cannot confine the policy, because a policy needs a "
                f"process that {' and '.join(lacks)}"
            )
        return holding

    def ask(
        self,
        message: object,
        limit_s: float,
        what: str,
        since_s: float | None = None,
        most: Most = wire.ABOUT_NONE,
    ) -> Any:
        """Return the child's answer, which must come within `limit_s` from `since_s` (by default,
        now). Raises MisbehavedError if the answer is missing, late, invalid, larger than `most`,
        or reports a `fault`.
        """
        line = self.line
        deadline_s = (time.monotonic() if since_s is None else since_s) + limit_s
        try:
            line.settimeout(_until(deadline_s))
            line.sendall(wire.packed(message))
            line.settimeout(_until(deadline_s))
            received = line.recv(_RECEIVED_BYTES)
            if len(received) < 4 or len(received) != 4 + wire.HEAD.unpack_from(received)[0]:
                received = self._rest(received, deadline_s, most)
            answer = wire.unpacked(received[4:], most)
        except TimeoutError:
            raise MisbehavedError(
                f"{what} did not return within {limit_s:g} s; is there a loop that does not end?"
            ) from None
        except OSError:
            raise MisbehavedError(self._how_it_ended(what, deadline_s)) from None
        except wire.WireError as fault:
            raise MisbehavedError(str(fault)) from None
        return unfaulty(answer)

    def cpu_s(self) -> float:
        try:
            return cpus.cpu_s(self.process.pid)
        except OSError:  # it has ended, which the next message will show
            return 0.0

    def _rest(self, received: bytes, deadline_s: float, most: Most) -> bytes:
        """Return the whole message that begins with `received`; the deadline applies to
        all of it.
        """
        content = bytearray(received)
        while len(content) < 4 or len(content) < 4 + wire.HEAD.unpack_from(content)[0]:
            if len(content) >= 4:
                wire.check_size(wire.HEAD.unpack_from(content)[0], most)
            self.line.settimeout(_until(deadline_s))
            found = self.line.recv(_RECEIVED_BYTES)
            if not found:
                raise ConnectionError
            content += found
        if len(content) > 4 + wire.HEAD.unpack_from(content)[0]:
            raise wire.WireError("its process sent more than one answer")
        return bytes(content)

    def _how_it_ended(self, what: str, deadline_s: float) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(max(_ENDS_WITHIN_S, deadline_s - time.monotonic()))
            how = f"signal {-status}" if status < 0 else f"status {status}"
            return (
                f"its process ended during {what} ({how}); it may have used more memory or CPU "
                "than allowed"
            )
        return f"its process closed the connection during {what}"


class Child(Confined, Calls):
    """A confined process that has loaded one policy."""

    def __init__(self, file: PolicyFile, limits: Limits) -> None:
        """Start the process and load the file. This takes about 0.1 s, and at most
        `limits.start_s`.
        """
        super().__init__(limits)
        self._owed_s = 0.0
        """The seconds that the policy took beyond its share, up to `limits.burst_s`."""
        self._paid_s = self.begun_s
        self._looked = (self._paid_s, 0.0)
        """The time of the latest CPU check, and the child's CPU seconds at that time."""
        self._own_cpu_s = 0.0
        """The gateway's CPU seconds for the child's answers since the last check."""
        try:
            self.load(file)
        except MisbehavedError:
            self.end()
            raise

    def begin(self, message: object, what: str, most: Most = wire.ABOUT_NONE) -> Any:
        return self.ask(message, self._limits.start_s, what, self.begun_s, most)

    def decision(self, message: object, what: str, reader: Callable[[object], T], most: Most) -> T:
        asked_s, asked_cpu_s = time.monotonic(), time.thread_time()
        answer = read(reader, self.ask(message, self._limits.decision_s, what, most=most))
        self._own_cpu_s += time.thread_time() - asked_cpu_s
        self._pay(asked_s, time.monotonic())
        return answer

    def _pay(self, asked_s: float, answered_s: float) -> None:
        """Charge the policy for the time of an answer, and raise MisbehavedError if the policy has
        used more than its share.

        Without this charge, a policy that answers all the time could use all of the gateway's time.
        The error depends on the CPU time of child and gateway, because a busy machine is not the
        policy's fault.
        """
        earned_s = (asked_s - self._paid_s) * self._limits.share_ratio
        self._owed_s = max(0.0, self._owed_s - earned_s) + answered_s - asked_s
        self._paid_s = answered_s
        if self._owed_s <= self._limits.burst_s:
            return
        (since_s, cpu_s), self._looked = self._looked, (answered_s, self.cpu_s())
        own_cpu_s, self._own_cpu_s, self._owed_s = self._own_cpu_s, 0.0, 0.0
        allowed_s = (answered_s - since_s) * self._limits.share_ratio
        if max(self._looked[1] - cpu_s, own_cpu_s) > allowed_s:
            raise MisbehavedError(
                f"its answers use more than {self._limits.share_ratio:.0%} of a CPU; a "
                f"decision may take at most a few milliseconds"
            )


def impurities(text: str) -> list[str]:
    """Return one line for each impurity of this source; raise MisbehavedError if the process fails.
    A confined process reads the source without running it, because the parser may need much time
    and memory for a malicious source.
    """
    reader = Confined(OF_READING)
    try:
        order, limit_s = ["read", "", text], OF_READING.start_s
        answer = reader.ask(order, limit_s, "reading it", reader.begun_s, wire.OF_A_FILE)
        return [printable(line) for line in read(wire.impurities_of, answer)]
    finally:
        reader.end()


def _no_process(fault: OSError) -> MisbehavedError:
    return MisbehavedError(f"cannot start a process for the policy: {fault.strerror}")


def _end(process: subprocess.Popen[bytes], line: socket.socket) -> None:
    with line:  # closed after the kill, so that the exit status is always the same
        try:
            process.kill()
        except OSError:
            # This process may not kill another account's process. That process ends when the
            # connection closes, or at its CPU limit.
            with contextlib.suppress(RuntimeError):  # the interpreter ends, too
                threading.Thread(target=process.wait, daemon=True).start()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(KILLED_WITHIN_S)


def _until(deadline_s: float) -> float:
    """Return the seconds until the deadline; raises TimeoutError if it has passed."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise MisbehavedError("its process did not start correctly")
    return {printable(name): printable(text) for name, text in value.items()}
