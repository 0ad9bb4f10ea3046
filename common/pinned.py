"""A wrapper that sets CPUs and limits, and then becomes another program: `python -m common.pinned
[options] CPUS -- COMMAND`.

It sets the process's CPUs and scheduling, raises the limit on open files, and gives up root if an
option names a user. It can ask the kernel to end the program when its parent dies. The process id
stays the same, so that signals reach the program.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from common import cpus, processes

if sys.platform != "win32":
    import pwd
    import resource

OPEN_FILES = 65536
KEPT_VARIABLES = ("DOORBUSTER_APPLIANCE",)  # the mark by which `make down` recognises its processes


def command(
    on: tuple[int, ...],
    program: Sequence[str],
    *,
    user: str | None = None,
    end_with_parent: signal.Signals | None = None,
    parent: int | Path | None = None,
    plain_environment: bool = False,
    idle: bool = False,
    data_bytes: int | None = None,
    expendable: bool = False,
) -> list[str]:
    """Return the command line that runs `program` on the CPUs `on` through this module.

    An `idle` program uses only CPU time that no other program needs. `data_bytes` limits the
    private memory of each process. When memory runs out, the kernel ends an `expendable` program
    first.

    `parent` is the id of the process that will start the program, or a file with this id. With
    `end_with_parent`, the kernel sends this signal to the program when the parent dies; if the
    parent has already died, the program is not started.
    """
    options = ["--user", user] if user else []
    options += ["--end-with-parent", end_with_parent.name] if end_with_parent else []
    if parent:
        options += ["--parent-file" if isinstance(parent, Path) else "--parent", str(parent)]
    options += ["--plain-environment"] if plain_environment else []
    options += ["--idle"] if idle else []
    options += ["--data-bytes", str(data_bytes)] if data_bytes else []
    options += ["--expendable"] if expendable else []
    wrapper = [sys.executable, "-m", "common.pinned", *options, cpus.written(on), "--"]
    return [*wrapper, *program]


def become(arguments: Sequence[str]) -> None:
    """Carry out the command line; the function never returns, except by an exception."""
    parser = argparse.ArgumentParser(prog="python -m common.pinned")
    parser.add_argument("--user", help="give up root for this user")
    parser.add_argument(
        "--end-with-parent",
        metavar="SIGNAL",
        help="signal sent to the program when the parent dies",
    )
    parser.add_argument(
        "--parent", type=int, help="process id of the parent; the default is the actual parent"
    )
    parser.add_argument(
        "--parent-file", type=Path, help="file that contains the process id of the parent"
    )
    parser.add_argument(
        "--plain-environment",
        action="store_true",
        help="use a minimal environment, without secrets and locale variables",
    )
    parser.add_argument(
        "--idle", action="store_true", help="use only CPU time that no other program needs"
    )
    parser.add_argument(
        "--data-bytes", type=int, help="maximum private memory of each process, in bytes"
    )
    parser.add_argument(
        "--expendable",
        action="store_true",
        help="let the kernel end this program before others if memory runs out",
    )
    parser.add_argument("cpus", type=cpus.parse)
    parser.add_argument("program", nargs="+")
    chosen = parser.parse_args(arguments)
    parent = chosen.parent or _process_in(chosen.parent_file) or os.getppid()

    os.sched_setaffinity(0, chosen.cpus)
    if chosen.idle:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    raise_open_files()
    if chosen.data_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (chosen.data_bytes, chosen.data_bytes))
    if chosen.expendable:
        processes.become_expendable()
    if chosen.user:
        entry = pwd.getpwnam(chosen.user)
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
        os.chdir("/")
    if chosen.end_with_parent:
        # After setuid, because setuid clears this setting.
        number = signal.Signals[chosen.end_with_parent]
        processes.end_with_parent(number)
        if number != signal.SIGKILL:  # no process can ignore it
            signal.signal(number, signal.SIG_DFL)  # background processes inherit an ignored SIGINT
        if os.getppid() != parent:
            sys.exit(f"the process that started {chosen.program[0]} has died")
    try:
        os.execvpe(chosen.program[0], chosen.program, _environment(chosen.plain_environment))
    except OSError as error:
        sys.exit(f"{chosen.program[0]}: {error.strerror}")


def _process_in(file: Path | None) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text()) if file else None
    return None


def _environment(plain: bool) -> dict[str, str]:
    if not plain:
        return dict(os.environ)
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", **kept}


def raise_open_files() -> int:
    """Raise the limit on open files to `OPEN_FILES`, or to the hard limit if that is lower; return
    the limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


if __name__ == "__main__":
    become(sys.argv[1:])
