"""Landlock: this process opens no file, connects nowhere and signals nobody from now on.

Owns: the three system calls and the rights of each version. Must not know: what else confines.

Linux 5.13 and newer (Documentation/userspace-api/landlock.rst). A rule set that handles every right
and allows none refuses all of them; what is open already stays usable.
"""

import ctypes
import os
from typing import Final

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1  # the flag that asks for it

_FILES: Final = {1: 13, 2: 14, 3: 15, 5: 16}
"""By version: how many rights to files there are, the lowest bits."""
_NET: Final = (4, 0b11)  # bind and connect by TCP
_SCOPES: Final = (6, 0b11)  # abstract UNIX sockets and signals of processes outside


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("net", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


def forbid_all() -> str:
    """Take every right away; gives what holds, e.g. `landlock 6`. Raises OSError.

    The process must have `no_new_privs`.
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
        if libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise OSError(ctypes.get_errno(), "Landlock refused this process")
    finally:
        os.close(ruleset)
    return f"landlock {version}"
