"""Calls of functions that read a student's input, each in a child process with limits.

Parsers may need far more memory and time than the size of their input suggests. If the child
reaches a limit, it ends, and the caller gets a one-line error. The child runs only the project's
code and may open files; students' code runs in `gateway.students`.
"""

import contextlib
import ctypes
import errno
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from common import processes

_ROOT: Final = Path(__file__).resolve().parents[1]
_PR_SET_NO_NEW_PRIVS: Final = 38  # prctl(2)
_OUT_OF_MEMORY: Final = 77
"""The exit status of a child that has too little memory to report an error."""
_MOST_WORDS: Final = 1000
_OF_ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}
"""The environment variables that limit libraries' threads, because RLIMIT_AS counts the address
space of every thread.
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    memory_bytes: int
    """The address space, in bytes, that the function may add after the import of its module."""
    cpu_s: int
    """The maximum CPU time in seconds, including the interpreter's start."""
    wall_s: float
    """The time, in real seconds, within which the answer must be complete."""
    answer_bytes: int = 1024 * 1024
    """The maximum length of the answer as JSON, in bytes."""
    file_bytes: int = 0
    """The maximum size of a file that the function may write, in bytes."""
    is_idle: bool = False
    """Whether the child may use only CPU time that no other process needs."""


class BoundedError(Exception):
    """The error for a call without a result; the message is one line for the user."""

    def __init__(self, message: str, facts: Any = None) -> None:
        super().__init__(message)
        self.facts = facts
        """The JSON value `facts` of the function's exception, if the exception has one."""


class BoundsExceededError(BoundedError):
    """The error for a call that reaches a limit; the message names the limit in one line."""


def call(
    function: str, argument: Any, bounds: Bounds, environment: Mapping[str, str] | None = None
) -> Any:
    """Return the result of `function` ("package.module:name"); argument and result are JSON values.

    The child's environment contains only `environment` and a few fixed variables. Raises
    BoundsExceededError if the child reaches a limit, recurses too deeply or ends by a signal.
    Raises BoundedError if the function raises any other exception than MemoryError and
    RecursionError, or if the child cannot start or fails. The message for an exception is the
    exception's text. The name of its class comes first, unless the function's package defines the
    class.
    """
    deadline_s = time.monotonic() + bounds.wall_s
    with tempfile.TemporaryFile() as asked:
        order = {"function": function, "argument": argument, "bounds": asdict(bounds)}
        asked.write(json.dumps(order).encode())
        asked.seek(0)
        with _started(asked.fileno(), environment or {}) as process:
            try:
                content = _answer(process, bounds, deadline_s)
                process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise BoundsExceededError(
                    f"processing takes more than {bounds.wall_s:g} s"
                ) from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    return _read(content, process.returncode, bounds)


def _started(asked: int, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    plain = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **_OF_ONE_THREAD, **environment}
    try:
        return subprocess.Popen(
            [sys.executable, "-s", "-m", "common.bounded", str(os.getpid())],
            cwd=_ROOT,
            env=plain,
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as fault:
        raise BoundedError(f"no process can be started ({fault.strerror})") from None


def _answer(process: "subprocess.Popen[bytes]", bounds: Bounds, deadline_s: float) -> bytes:
    assert process.stdout is not None
    content = bytearray()
    waiting = select.poll()
    waiting.register(process.stdout, select.POLLIN | select.POLLHUP)
    while waiting.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
        found = os.read(process.stdout.fileno(), 65_536)
        if not found:
            return bytes(content)
        content += found
        if len(content) > bounds.answer_bytes + _MOST_WORDS * 8:
            raise BoundsExceededError(f"the answer has more than {bounds.answer_bytes:,} bytes")
    raise BoundsExceededError(f"processing takes more than {bounds.wall_s:g} s")


def _read(content: bytes, status: int, bounds: Bounds) -> Any:
    memory = f"processing needs more than {bounds.memory_bytes / 2**20:,.0f} MiB of memory"
    if status == -signal.SIGXCPU:
        raise BoundsExceededError(f"processing needs more than {bounds.cpu_s} s of CPU time")
    if status == _OUT_OF_MEMORY:
        raise BoundsExceededError(memory)
    if status < 0:  # C libraries end like this when memory runs out
        ended = signal.Signals(-status).name
        raise BoundsExceededError(f"{memory}, or the input cannot be read at all ({ended})")
    if status:
        raise BoundedError(f"the process ended with status {status}")
    said = json.loads(content)
    if "exceeded" in said:
        raise BoundsExceededError(said["exceeded"])
    if "refused" in said:
        raise BoundedError(said["refused"], said["facts"])
    return said["answer"]


def _serve(parent: int) -> NoReturn:
    _end_with(parent)
    line = os.dup(1)
    os.dup2(2, 1)  # a library's output must not become the answer
    order = json.loads(sys.stdin.buffer.read())
    bounds = Bounds(**order["bounds"])
    module, _, name = order["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    _limit(bounds)
    try:
        said = json.dumps({"answer": function(order["argument"])}).encode()
        if len(said) > bounds.answer_bytes:
            said = _exceeded(f"the answer has more than {bounds.answer_bytes:,} bytes")
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except RecursionError:
        said = _exceeded("the input is nested too deeply")
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno == errno.EFBIG:
            said = _exceeded(f"the function writes a file of more than {bounds.file_bytes:,} bytes")
        else:
            words = _words(fault, module.partition(".")[0])
            facts = getattr(fault, "facts", None)
            said = json.dumps({"refused": words, "facts": facts}).encode()
    with os.fdopen(line, "wb") as answer:
        answer.write(said)
    os._exit(0)  # without the destructors of libraries, which might fail


def _exceeded(words: str) -> bytes:
    return json.dumps({"exceeded": words}).encode()


def _end_with(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    processes.end_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    processes.become_expendable()


def _limit(bounds: Bounds) -> None:
    if bounds.is_idle:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    for what, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + bounds.memory_bytes),
        (resource.RLIMIT_CPU, bounds.cpu_s),
        (resource.RLIMIT_FSIZE, bounds.file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (value, hard if what == resource.RLIMIT_CPU else value))


def _words(fault: Exception, package: str) -> str:
    """Return the exception in one line. The line begins with the exception's class, unless
    `package` defines this class.
    """
    own = type(fault).__module__.partition(".")[0] == package
    words = " ".join(str(fault).split())
    line = words if own and words else f"{type(fault).__name__}: {words}".rstrip(": ")
    return "".join(c if c.isprintable() else " " for c in line)[:_MOST_WORDS]


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
