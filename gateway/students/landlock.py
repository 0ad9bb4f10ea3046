"""The Landlock rules, which let the process open only the named files. Newer kernels also forbid
TCP connections, and signals to other processes. Landlock needs Linux 5.13 or newer
(Documentation/userspace-api/landlock.rst). A rule set that handles every right and grants none
denies every right; files that are already open stay usable. Landlock does not control stat, or
changes of a file's mode, owner and times. Before version 3, Landlock does not control truncation.
The seccomp filter must deny these changes and truncation.
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from typing import Final

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1  # the flag that requests Landlock's version

_FILES: Final = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of file rights, by the version of Landlock that introduced this number. File rights
are the lowest bits.
"""
_READ: Final = 1 << 2 | 1 << 3  # files, folders
_WRITE: Final = _READ | sum(1 << bit for bit in (1, 4, 5, 7, 8, 12, 13, 14))
"""The rights to read, write, truncate, create, remove and move files, folders and
symbolic links.
"""
_OF_A_FILE: Final = 1 << 1 | 1 << 2 | 1 << 14
_BENEATH: Final = 1  # the kind of rule
_NET: Final = (4, 0b11)  # bind and connect by TCP
_SCOPES: Final = (6, 0b11)  # abstract UNIX sockets, and signals to other processes


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("net", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


def forbid_but(readable: Iterable[str] = (), writable: Iterable[str] = ()) -> str:
    """Take from this process every right that Landlock controls, except two: the right to read the
    `readable` paths, and the right to read and write the `writable` paths. Both rights include
    everything below the paths. Paths that do not exist are ignored. Return the name of the layer,
    e.g. `landlock 6`; raise OSError if the kernel refuses. The process must have `no_new_privs`.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        raise OSError(ctypes.get_errno(), "the kernel has no Landlock")
    files = max(bits for since, bits in _FILES.items() if since <= version)
    attributes = _Attributes(
        (1 << files) - 1,
        _NET[1] if version >= _NET[0] else 0,
        _SCOPES[1] if version >= _SCOPES[0] else 0,
    )
    size = 24 if version >= _SCOPES[0] else 16 if version >= _NET[0] else 8
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused the rules")
    try:
        for path in readable:
            _allow(libc, ruleset, path, _READ)
        for path in writable:
            _allow(libc, ruleset, path, _WRITE & attributes.files)
        if libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise OSError(ctypes.get_errno(), "Landlock refused this process")
    finally:
        os.close(ruleset)
    return f"landlock {version}"


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_A_FILE
        rule = _Beneath(rights, descriptor)
        if libc.syscall(_ADD_RULE, ruleset, _BENEATH, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), f"Landlock refused a rule for {path}")
    finally:
        os.close(descriptor)
