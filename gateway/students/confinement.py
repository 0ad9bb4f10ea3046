"""The confinement of a process: it loses access to files, the network, other processes and further
memory, and the rights of its account.

`confine` is for policies. `confine_tests` is for a policy's tests, which need some files. The
layers are independent. If the kernel does not support a layer, the other layers still protect, and
the result omits the missing layer. If a layer in `NEEDED` is missing, no policy runs.

The child calls `confine` once, before it reads a line of the policy. Afterwards, the interpreter
cannot open any file.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Final

from gateway.students import landlock, seccomp

if sys.platform not in ("win32", "emscripten"):  # neither has accounts or limits
    import pwd
    import resource

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_NOBODY: Final = 65_534
_CAPABILITY_VERSION_3: Final = 0x20080522

LAYERS: Final = {
    "oom": "is the first process to be ended when memory runs out",
    "privileges": "gains no privileges (no_new_privs)",
    "account": "does not run as root",
    "parent": "ends with its parent",
    "landlock": "opens no files and no TCP connections (Landlock)",
    "limits": "has limits on CPU, memory, files and processes",
    "seccomp": "makes only system calls that a computation needs (seccomp)",
}
"""The effect of each layer, by the layer's name."""
NEEDED: Final = ("limits", "seccomp")
"""If one of these layers is missing, no policy runs. Otherwise, a policy could fill the machine's
memory or use the rights of its account.
"""


OF_TESTS: Final = {
    "oom": LAYERS["oom"],
    "privileges": LAYERS["privileges"],
    "capabilities": "has no capabilities, even if root runs it",
    "parent": LAYERS["parent"],
    "landlock": "opens only the files that it may read, and files in a separate folder (Landlock)",
    "limits": LAYERS["limits"],
    "seccomp": "makes no system calls for the network, processes, signals or accounts (seccomp)",
}
"""The effect of each layer around tests, by the layer's name."""
NEEDED_BY_TESTS: Final = ("privileges", "capabilities", "landlock", "limits", "seccomp")
"""If one of these layers is missing, no tests run. Otherwise, tests could read every file of the
account.
"""
_OPEN_FILES: Final = 64


def confine(*, cpu_s: int, memory_bytes: int, parent: int) -> dict[str, str]:
    """Apply every layer and return the names of the layers in force, each with a detail such as
    `landlock 6`. `parent` is the parent's process id; if the parent has already ended, this process
    exits.
    """
    return _applied(
        ("oom", _first_to_go),
        ("privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1)),
        ("account", _another_account),
        ("parent", lambda: _with_parent(parent)),
        ("landlock", landlock.forbid_but),
        ("limits", lambda: _limits(cpu_s, memory_bytes)),
        ("seccomp", seccomp.forbid_most),
    )


def confine_tests(
    *,
    cpu_s: int,
    memory_bytes: int,
    file_bytes: int,
    parent: int,
    readable: Iterable[str],
    writable: Iterable[str],
) -> dict[str, str]:
    """Apply the layers for tests, which may read the `readable` paths, and write files of at most
    `file_bytes` at the `writable` paths. The account stays the same, because another account often
    cannot read the interpreter.
    """
    return _applied(
        ("oom", _first_to_go),
        ("privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1)),
        ("capabilities", _no_capabilities),
        ("parent", lambda: _with_parent(parent)),
        ("landlock", lambda: landlock.forbid_but(readable, writable)),
        ("limits", lambda: _limits(cpu_s, memory_bytes, file_bytes, _OPEN_FILES)),
        ("seccomp", lambda: seccomp.forbid_most(with_files=True)),
    )


def _applied(*steps: tuple[str, Callable[[], str]]) -> dict[str, str]:
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
        return "not for root"
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
    # A change of account after this call would clear the setting.
    _prctl(_PR_SET_DUMPABLE, 0)
    done = _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    return done


def _limits(cpu_s: int, memory_bytes: int, file_bytes: int = 0, open_files: int = 0) -> str:
    for what, most in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, open_files),
    ):
        _, hard = resource.getrlimit(what)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (value, value))
    return f"{cpu_s} s of CPU, {memory_bytes // 2**20} MiB"


def _no_capabilities() -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    return "none"


def _prctl(option: int, value: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")
    return "yes"
