"""The seccomp filter, which allows the few system calls that a computation needs; every other call
fails with EPERM.

Tests of a policy also need files (`with_files`), and Landlock decides which files they may use. For
tests, the filter denies all calls that could change something outside Landlock's control:

- changes of a file's mode, owner or times;
- truncation by path, or of a file opened for reading;
- signals, processes, threads and sockets.

The filter allows only the operations of fcntl and ioctl that files need, and no operation that
sends a signal or inserts input.

A call that is not in the list fails but does not end the process, so that the policy's author sees
the faulty line. The list for policies does not contain futex: a single thread does not need this
call, and a policy could use it to sleep without CPU time. The numbers of the calls are from the
kernel's tables for x86_64 and arm64.
"""

import ctypes
import errno
import os
import struct
from typing import Final, NamedTuple


class _Machine(NamedTuple):
    audit_arch: int
    allowed: tuple[int, ...]
    with_files: tuple[int, ...]
    fcntl: int
    ioctl: int
    opens: tuple[tuple[int, int], ...]
    """The calls that open a file, each with the position of the flags among its arguments."""


_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000003E,
        (
            *(0, 1, 9, 10, 11, 12),  # read, write, mmap, mprotect, munmap, brk
            *(13, 14, 15),  # rt_sig(action|procmask|return)
            *(24, 25, 28),  # sched_yield, mremap, madvise
            *(39, 60, 96, 131, 219),  # getpid, exit, gettimeofday, sigaltstack, restart_syscall
            *(228, 231, 318),  # clock_gettime, exit_group, getrandom
        ),
        (
            *(3, 4, 5, 6, 7, 8),  # close, stat, fstat, lstat, poll, lseek
            *(17, 18, 19, 20, 21, 22, 23),  # pread64, pwrite64, readv, writev, access, pipe, select
            *(26, 32, 33, 35, 63, 74, 75),  # msync, dup, dup2, nanosleep, uname, fsync, fdatasync
            *(77, 78, 79, 80, 81, 82, 83),  # ftruncate, getdents, getcwd, (f)chdir, rename, mkdir
            *(84, 87, 88, 89, 95, 98, 99),  # rmdir, unlink, (sym|read)link, umask, rusage, sysinfo
            *(100, 102, 104, 107, 108, 110),  # times, getuid, getgid, geteuid, getegid, getppid
            *(115, 137, 138, 186, 201, 202),  # getgroups, statfs, fstatfs, gettid, time, futex
            *(204, 217, 218, 229, 230),  # sched_getaffinity, getdents64, tid address, clock_…
            *(258, 262, 263, 264, 266),  # mkdirat, newfstatat, unlinkat, renameat, symlinkat
            *(267, 269, 270, 271, 273),  # readlinkat, faccessat, pselect6, ppoll, set_robust_list
            *(292, 293, 316, 324),  # dup3, pipe2, renameat2, membarrier
            *(332, 334, 439),  # statx, rseq, faccessat2
        ),
        fcntl=72,
        ioctl=16,
        opens=((2, 1), (257, 2)),  # open, openat
    ),
    "aarch64": _Machine(
        0xC00000B7,
        (
            *(63, 64, 93, 94, 113),  # read, write, exit, exit_group, clock_gettime
            *(124, 128, 132),  # sched_yield, restart_syscall, sigaltstack
            *(134, 135, 139, 169, 172),  # rt_sig(action|procmask|return), gettimeofday, getpid
            *(214, 215, 216, 222, 226),  # brk, munmap, mremap, mmap, mprotect
            *(233, 278),  # madvise, getrandom
        ),
        (
            *(17, 23, 24),  # getcwd, dup, dup3
            *(34, 35, 36, 38),  # mkdirat, unlinkat, symlinkat, renameat
            *(43, 44, 46, 48, 49, 50),  # statfs, fstatfs, ftruncate, faccessat, chdir, fchdir
            *(57, 59, 61, 62, 65, 66),  # close, pipe2, getdents64, lseek, readv, writev
            *(67, 68, 72, 73),  # pread64, pwrite64, pselect6, ppoll
            *(78, 79, 80, 82, 83),  # readlinkat, newfstatat, fstat, fsync, fdatasync
            *(96, 98, 99, 101),  # set_tid_address, futex, set_robust_list, nanosleep
            *(114, 115, 123, 153, 158, 160),  # clock_…, sched_getaffinity, times, getgroups, uname
            *(165, 166, 173, 174, 175, 176),  # getrusage, umask, getppid, getuid, geteuid, getgid
            *(177, 178, 179),  # getegid, gettid, sysinfo
            *(227, 276, 283),  # msync, renameat2, membarrier
            *(291, 293, 439),  # statx, rseq, faccessat2
        ),
        fcntl=25,
        ioctl=29,
        opens=((56, 2),),  # openat
    ),
}

_FCNTL: Final = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
"""The allowed operations of fcntl: they duplicate a descriptor, read and set its flags, and use
locks. F_SETOWN and F_SETSIG are not allowed, because with them a process could send a signal to any
process.
"""
_IOCTL: Final = (0x5401, 0x5413, 0x5450, 0x5451)
"""The allowed operations of ioctl: they read a terminal's kind and size, and set close-on-exec.
TIOCSTI is not allowed, because it inserts input as if the terminal's user had typed it.
"""
_MODE_AND_TRUNCATE: Final = 0x203
"""The bits of O_ACCMODE and O_TRUNC in the flags of a call that opens a file."""
_TRUNCATES: Final = (0, 1, 2, 3, 0x201, 0x202)
"""The allowed combinations of these bits; only a file opened for writing may be truncated."""

_LOAD_WORD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_IF_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data, of little-endian machines
_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_FAIL: Final = 0x00050000 | errno.EPERM

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def forbid_most(*, with_files: bool = False) -> str:
    """Install the filter and return the name of the layer. Raises OSError if the machine has no
    list of calls, or if the kernel refuses.

    The process must have `no_new_privs`.
    """
    machine = _MACHINES.get(os.uname().machine)
    if machine is None or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"there is no list of system calls for {os.uname().machine}")
    program = _program(machine, with_files=with_files)
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = _Program(len(program) // 8, ctypes.cast(code, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filter_), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp refused the filter")
    return "seccomp"


def _program(machine: _Machine, *, with_files: bool) -> bytes:
    """Return the filter's program. First, it kills a process that makes a call of another
    architecture. Then it checks the calls whose arguments matter, and compares the call with the
    list. Its last two instructions are `fail` and `allow`.
    """
    calls = machine.allowed + (machine.with_files if with_files else ())
    steps = [
        (_LOAD_WORD, 0, 0, _ARCH_AT),
        (_JUMP_IF_EQUAL, 1, 0, machine.audit_arch),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD_WORD, 0, 0, _NUMBER_AT),
    ]
    if with_files:
        steps += _by_argument(machine.fcntl, 1, _FCNTL)
        steps += _by_argument(machine.ioctl, 1, _IOCTL)
        for call, place in machine.opens:
            steps += _by_argument(call, place, _TRUNCATES, _MODE_AND_TRUNCATE)
    steps += [
        *((_JUMP_IF_EQUAL, len(calls) - place, 0, number) for place, number in enumerate(calls)),
        (_RETURN, 0, 0, _FAIL),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _by_argument(
    call: int, place: int, allowed: tuple[int, ...], mask: int = 0xFFFFFFFF
) -> list[tuple[int, int, int, int]]:
    """Return instructions that decide about this call by the masked bits of an argument."""
    steps = [
        (_LOAD_WORD, 0, 0, _ARGUMENTS_AT + 8 * place),
        (_AND, 0, 0, mask),
        *((_JUMP_IF_EQUAL, len(allowed) - place, 0, value) for place, value in enumerate(allowed)),
        (_RETURN, 0, 0, _FAIL),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [(_JUMP_IF_EQUAL, 0, len(steps), call), *steps]
