"""seccomp: of all system calls a computation needs few; every other one fails with EPERM.

Owns: the calls that are allowed, the filter's program. Must not know: what else confines.

A list of what is allowed cannot forget a way out, as one of what is forbidden could. What is not on
it fails instead of ending the process, so that the policy's author sees which line tried it. There
is no futex: one thread needs no call for its locks, and a lock's wait would be a sleep without CPU.
Numbers: the kernel's syscall tables of x86_64 and of arm64 (the generic one).
"""

import ctypes
import errno
import os
import struct
from typing import Final, NamedTuple


class _Machine(NamedTuple):
    audit_arch: int
    allowed: tuple[int, ...]


_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000003E,
        (
            0,  # read
            1,  # write
            9,  # mmap
            10,  # mprotect
            11,  # munmap
            12,  # brk
            13,  # rt_sigaction
            14,  # rt_sigprocmask
            15,  # rt_sigreturn
            24,  # sched_yield
            25,  # mremap
            28,  # madvise
            39,  # getpid
            60,  # exit
            96,  # gettimeofday
            131,  # sigaltstack
            219,  # restart_syscall
            228,  # clock_gettime
            231,  # exit_group
            318,  # getrandom
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        (
            63,  # read
            64,  # write
            93,  # exit
            94,  # exit_group
            113,  # clock_gettime
            124,  # sched_yield
            128,  # restart_syscall
            132,  # sigaltstack
            134,  # rt_sigaction
            135,  # rt_sigprocmask
            139,  # rt_sigreturn
            169,  # gettimeofday
            172,  # getpid
            214,  # brk
            215,  # munmap
            216,  # mremap
            222,  # mmap
            226,  # mprotect
            233,  # madvise
            278,  # getrandom
        ),
    ),
}

_LOAD_WORD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_IF_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT, _ARCH_AT = 0, 4  # in struct seccomp_data
_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_FAIL: Final = 0x00050000 | errno.EPERM

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def forbid_most() -> str:
    """Install the filter; gives what holds. Raises OSError.

    The process must have `no_new_privs`. x32's numbers (bit 30 set) are none of the allowed ones.
    """
    machine = _MACHINES.get(os.uname().machine)
    if machine is None or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"no list of system calls for {os.uname().machine}")
    program = _program(machine)
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = _Program(len(program) // 8, ctypes.cast(code, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filter_), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp refused the filter")
    return "seccomp"


def _program(machine: _Machine) -> bytes:
    """Another machine's calls: kill. Then a comparison for each allowed call, the last two
    instructions being `fail` and `allow`."""
    calls = machine.allowed
    steps = [
        (_LOAD_WORD, 0, 0, _ARCH_AT),
        (_JUMP_IF_EQUAL, 1, 0, machine.audit_arch),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD_WORD, 0, 0, _NUMBER_AT),
        *((_JUMP_IF_EQUAL, len(calls) - place, 0, number) for place, number in enumerate(calls)),
        (_RETURN, 0, 0, _FAIL),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
