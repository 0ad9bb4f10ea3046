"""Starts of this project's programs that do not repeat the imports.

Tests start the same programs hundreds of times, and imports cost most of the CPU time of a start.
A server process imports `MODULES` once and then forks for each start. The fork gets the arguments,
variables and files of that start, and runs the module as `__main__`, as `python -m` does.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from common import pinned, processes
from runtime.settings import REPOSITORY

PROGRAMS = ("doorbuster", "gateway", "lab.console")
MODULES = (
    "celery.apps.worker",
    "celery.concurrency.prefork",
    "celery.worker.consumer",
    "django.contrib.auth.hashers",
    "django.contrib.auth.password_validation",
    "django.contrib.messages.storage.cookie",
    "django.contrib.staticfiles.management.commands.collectstatic",
    "django.contrib.staticfiles.storage",
    "django.core.asgi",
    "django.core.management.commands.migrate",
    "django.db.backends.sqlite3.base",
    "django.template.defaulttags",
    "django.views.generic",
    "doorbuster.commands",
    "gateway.service",
    "kombu.transport.redis",
    "lab.bundle.extras",
    "lab.database.publishing",
    "lab.engines.live.run",
    "lab.executors.local",
    "lab.leaderboard",
    "lab.report.page",
    "lab.report.study_figures",
    "lab.runner.comparison",
    "lab.runner.estimates",
    "lab.students.scoreboard",
    "runtime.monitoring",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
    "whitenoise.middleware",
)
"""Modules that take long to import. While they are imported, none of them reads a setting."""
READ_ONCE = ("LANG", "LC_", "LD_", "PYTHON", "TZ")
"""Beginnings of the names of variables that Python reads when it starts, and never again."""
MOST_BYTES = 2**17
_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


def can_start(command: Sequence[str], environment: Mapping[str, str] | None = None) -> bool:
    """Return whether the server can start this command: a program or text for this Python."""
    words = list(command)
    is_known = words[1:2] == ["-c"] or (words[1:2] == ["-m"] and words[2] in PROGRAMS)
    given = os.environ if environment is None else environment
    return words[0] == sys.executable and is_known and _read_once(given) == variables_of_server()


def _read_once(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in environment.items() if name.startswith(READ_ONCE)}


@functools.cache
def variables_of_server() -> dict[str, str]:
    """Return the server's variables that Python reads only once: those of this process at the first
    call, because a test can change them for a time.
    """
    return _read_once(os.environ)


class Process(subprocess.Popen[Any]):
    """A process that the server forked. It is a child of this process, as any `Popen` is."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        start_new_session: bool = False,
        end_with_parent: signal.Signals | None = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        text: bool | None = None,
    ) -> None:
        """Fork; the server cannot carry out the other options of `Popen`."""
        self._asked = {
            "arguments": list(command[1:]),
            "environment": dict(os.environ if env is None else env),
            "is_leader": start_new_session,
            "end_with_parent": end_with_parent,
            "parent": os.getpid(),
        }
        super().__init__(
            command, cwd=REPOSITORY, stdin=stdin, stdout=stdout, stderr=stderr, text=text
        )

    def _execute_child(  # type: ignore[override] # it is private, but there is no public way
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
        creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *others,
    ):  # fmt: skip
        """Let the server fork where `Popen` would fork and execute a file."""
        files = [p2cread, c2pwrite, errwrite]
        files = [usual if file == -1 else file for usual, file in enumerate(files)]
        self.pid = _server().fork(self._asked, files)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[Any]":
    """Run a command to its end like `subprocess.run`, through the server if it can start it."""
    if not can_start(command, options.get("env")):
        return subprocess.run(command, **options)
    given, timeout_s = options.pop("input", None), options.pop("timeout", None)
    is_checked = options.pop("check", False)
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if given is not None:
        options["stdin"] = subprocess.PIPE
    with Process(command, **options) as process:
        try:
            output, errors = process.communicate(given, timeout=timeout_s)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    if is_checked:
        done.check_returncode()
    return done


class Server:
    """The server, seen from the test process. It starts at once and ends with this process."""

    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        ours = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("DJANGO_", *READ_ONCE))
        }
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
                cwd=REPOSITORY,
                env=ours | variables_of_server(),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, asked: dict[str, object], files: list[int]) -> int:
        """Return the id of a new child of this process, which becomes the program."""
        with self._lock:
            # The server forks twice, and the process in between ends, so that the kernel gives the
            # program to the next ancestor that takes orphans.
            self._prctl(_PR_SET_CHILD_SUBREAPER, 1)
            try:
                socket.send_fds(self._connection, [json.dumps(asked).encode()], files)
                return int(self._connection.recv(MOST_BYTES))
            finally:
                self._prctl(_PR_SET_CHILD_SUBREAPER, 0)

    def close(self) -> None:
        """End the server."""
        self._connection.close()
        self._process.wait()


@functools.cache
def _server() -> Server:
    made = Server()
    atexit.register(made.close)
    return made


def main() -> None:
    """Fork for each request until the test process ends. In a fork, run the program."""
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # no garbage collection copies the pages of the modules
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the test process
    # NumPy's threads, which are idle here, end before a fork.
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        asked, files = _next_in_fork(connection)
    _become(asked, files)


def _next_in_fork(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Answer requests with the ids of forks; return in a fork, with its request."""
    while True:
        text, files, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
        if not text:
            sys.exit()
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            between = os.getpid()
            if child := os.fork():
                os.write(writing, str(child).encode())
                os._exit(0)
            for file in (reading, writing):
                os.close(file)
            while os.getppid() == between:
                time.sleep(0.001)
            return json.loads(text), list(files)
        os.close(writing)
        answer = os.read(reading, 100)
        for file in (reading, *files):
            os.close(file)
        os.waitpid(between, 0)
        connection.send(answer)


def _become(asked: dict[str, Any], files: list[int]) -> None:
    """Take over everything that a new process gets from its start, and run the program."""
    for usual, file in enumerate(files):
        os.dup2(file, usual)
        os.close(file)
    if asked["is_leader"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(asked["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked["end_with_parent"]:
        pinned.raise_open_files()
        processes.end_with_parent(signal.Signals(asked["end_with_parent"]))
    if os.getppid() != asked["parent"]:
        sys.exit("the process that started this program has died")
    sys.stdin = sys.__stdin__ = _text(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = _text(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = _text(2, "w", sys.stderr)
    option, program, *others = asked["arguments"]
    if option == "-m":
        sys.argv = [program, *others]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = ["-c", *others], ""
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), module.__dict__)


def _text(file: int, mode: str, like: Any) -> io.TextIOWrapper:
    """Return a standard stream of this process, as Python makes it at a start."""
    is_unbuffered = file > 0 and bool(os.environ.get("PYTHONUNBUFFERED"))
    binary = open(  # noqa: SIM115 - it stays open
        file, f"{mode}b", buffering=0 if is_unbuffered else -1, closefd=False
    )
    return io.TextIOWrapper(
        binary,
        encoding=like.encoding,
        errors=like.errors,
        line_buffering=not is_unbuffered and (file == 2 or os.isatty(file)),
        write_through=is_unbuffered,
    )


if __name__ == "__main__":
    main()
