"""A process gives up what a computation does not need: files, network, processes, memory, account.

Owns: the layers, their order, and saying which of them hold here.
Must not know: what is computed.

Each layer stands by itself; where a kernel refuses one, the others hold and the report lacks it.
Without those in `NEEDED` no policy is run.
The interpreter has loaded all it needs before: afterwards nothing can be opened, not even its own
files. This runs in the child, once, before it reads a line of the policy.
"""

import contextlib
import ctypes
import os
import pwd
import resource
import signal
from collections.abc import Callable
from typing import Final

from gateway.students import landlock, seccomp

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_NOBODY: Final = 65_534

LAYERS: Final = {
    "oom": "goes first where memory is short",
    "privileges": "gains no privileges (no_new_privs)",
    "account": "runs under another account than root's",
    "parent": "ends with its parent",
    "landlock": "opens no files, no TCP connections (Landlock)",
    "limits": "has limits on CPU, memory, files and processes",
    "seccomp": "makes no system calls but those of a computation (seccomp)",
}
"""Name → what it means while it holds."""
NEEDED: Final = ("limits", "seccomp")
"""Without these a policy could fill the machine's memory, or do whatever its account may."""


def confine(*, cpu_s: int, memory_bytes: int, parent: int) -> dict[str, str]:
    """Apply every layer; gives those that hold: name → what holds. `parent` is a process id.

    Exits at once if the parent has ended meanwhile.
    """
    steps: tuple[tuple[str, Callable[[], str]], ...] = (
        ("oom", _first_to_go),
        ("privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1)),
        ("account", _another_account),
        ("parent", lambda: _with_parent(parent)),
        ("landlock", landlock.forbid_all),
        ("limits", lambda: _limits(cpu_s, memory_bytes)),
        ("seccomp", seccomp.forbid_most),
    )
    holding = {}
    for name, step in steps:
        with contextlib.suppress(OSError, ValueError):
            holding[name] = step()
    return holding


def _first_to_go() -> str:
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    return "1000"


def _another_account() -> str:
    if os.geteuid() != 0:
        return "not root's"
    try:
        entry = pwd.getpwnam("nobody")
        name, uid, gid = entry.pw_name, entry.pw_uid, entry.pw_gid
    except KeyError:
        name, uid, gid = str(_NOBODY), _NOBODY, _NOBODY
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    return name


def _with_parent(parent: int) -> str:
    # After the change of account, which clears it.
    _prctl(_PR_SET_DUMPABLE, 0)
    done = _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    return done


def _limits(cpu_s: int, memory_bytes: int) -> str:
    for what, most in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        _, hard = resource.getrlimit(what)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (value, value))
    return f"{cpu_s} s of CPU, {memory_bytes // 2**20} MiB"


def _prctl(option: int, value: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")
    return "yes"
