"""A lock for the whole machine, which no other user can forge or hide.

The lock is a Unix socket with an abstract name, which the kernel gives to only one process at a
time and frees when the process ends. The kernel also reports the process and its user. No file can
be left behind. Containers have separate names, because a name belongs to a network namespace.
"""

import errno
import os
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

if sys.platform != "win32":
    import pwd

_PREFIX: Final = "doorbuster/"
_DAY_S: Final = 86_400
_MOST_LOOK_UPS: Final = 128
"""The maximum number of look-ups that find any user's process. Later look-ups find only processes
of the caller's user.
"""

# sock_diag(7), for AF_UNIX sockets with name and user; Python lacks these constants.
_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST_AND_DUMP: Final = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_SHOW_NAME_AND_UID: Final = 0x41
_ATTRIBUTE_NAME, _ATTRIBUTE_UID = 0, 7
_ESTABLISHED: Final = 1
_ALL_BITS: Final = 0xFFFFFFFF
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = struct.Struct("=BBHIIIII")
_SOCKET: Final = struct.Struct("=BBBBIII")
_ATTRIBUTE: Final = struct.Struct("=HH")


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock, as the kernel reports it."""

    inode: int
    """The inode number of the lock's socket."""
    user: int | None
    """The holder's user id; None if this kernel does not report it."""
    process: int | None
    """The holder's process id; None if the kernel hides another user's process."""

    @property
    def is_ours(self) -> bool:
        return self.user == os.geteuid() and self.process is not None

    def __str__(self) -> str:
        words = [f"user {self.user_name}"]
        if self.process is not None:
            words.append(f"process {self.process}")
            with suppress(psutil.Error):
                words.append(f"since {_clock(psutil.Process(self.process).create_time())}")
        return ", ".join(words)

    @property
    def user_name(self) -> str:
        """The user's login name, or the user id if the user has no name."""
        if self.user is None:
            return "unknown"
        try:
            return pwd.getpwuid(self.user).pw_name
        except KeyError:
            return str(self.user)

    def environment(self) -> dict[str, str]:
        """Return the environment with which the process started; empty for another user's
        process.
        """
        if not self.is_ours:
            return {}
        try:
            content = Path(f"/proc/{self.process}/environ").read_bytes()
        except OSError:
            return {}
        pairs = (entry.partition("=") for entry in os.fsdecode(content).split("\0") if entry)
        return {name: text for name, _, text in pairs}

    def interrupt(self) -> bool:
        """Send SIGINT to the holder if it is a process of this user and still holds the lock. The
        signal cannot reach a later process with the same id.
        """
        if not self.is_ours or self.process is None or self.process <= 1:
            return False
        try:
            process = os.pidfd_open(self.process)
        except OSError:
            return False
        try:
            if _users(self.process) != {os.geteuid()} or not _has(self.process, self.inode):
                return False
            signal.pidfd_send_signal(process, signal.SIGINT)
        except OSError:
            return False
        finally:
            os.close(process)
        return True


class HeldError(Exception):
    """The error for a lock that another process holds. `holder` is None if that process has just
    ended, or if the kernel hides it.
    """

    def __init__(self, holder: Holder | None) -> None:
        super().__init__(str(holder) if holder else "a process that is not visible here")
        self.holder = holder


def take(name: str, known: Holder | None = None) -> socket.socket:
    """Take the lock `name`, and return its socket, which holds the lock until it is closed or this
    process ends.

    Raises HeldError if another process holds the lock. `known` is the holder that the last attempt
    found. If this holder still holds the lock, the function does not search for the process again.
    """
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(_address(name))
        lock.listen(_MOST_LOOK_UPS)  # a connection shows the process, but is never accepted
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise HeldError(holder_of(name, known)) from None
    return lock


def holder_of(name: str, known: Holder | None = None) -> Holder | None:
    """Return the holder of the lock `name`; None if no process holds it. `known` has the same
    meaning as in `take`.
    """
    found = _socket_named(_address(name))
    if found is None:
        return None
    inode, user = found
    if known is not None and known.inode == inode:
        return known
    listener = _listener(name)
    if listener is not None and _has(listener, inode):
        process: int | None = listener
    else:
        process = min((pid for pid in psutil.pids() if _has(pid, inode)), default=listener)
    if user is None and process is not None:
        with suppress(OSError):
            user = Path(f"/proc/{process}").stat().st_uid
    return Holder(inode, user, process)


def _address(name: str) -> bytes:
    return b"\0" + (_PREFIX + name).encode()


def _socket_named(address: bytes) -> tuple[int, int | None] | None:
    with suppress(OSError, struct.error):
        return _asked_of_kernel(address)
    # If the kernel has no sock_diag, its table of sockets has inodes and names, but no users.
    wanted = "@" + address[1:].decode()
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines():
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7] == wanted and fields[6].isdigit():
            return int(fields[6]), None
    return None


def _asked_of_kernel(address: bytes) -> tuple[int, int | None] | None:
    request = _REQUEST.pack(
        socket.AF_UNIX, 0, 0, _ALL_BITS, 0, _SHOW_NAME_AND_UID, _ALL_BITS, _ALL_BITS
    )
    header = _HEADER.pack(
        _HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_AND_DUMP, 1, 0
    )
    found: tuple[int, int | None] | None = None
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(5)
        kernel.send(header + request)
        while True:
            data, at = kernel.recv(1 << 18), 0
            while at < len(data):
                length, kind, *_ = _HEADER.unpack_from(data, at)
                if kind == _NLMSG_DONE:
                    return found
                if kind == _NLMSG_ERROR:
                    raise OSError("this kernel does not report it")
                state, inode, attributes = _message(data[at + _HEADER.size : at + length])
                # A connection also has its listener's name.
                if state != _ESTABLISHED and attributes.get(_ATTRIBUTE_NAME) == address:
                    user = attributes.get(_ATTRIBUTE_UID)
                    found = inode, None if user is None else struct.unpack("=I", user)[0]
                at += (length + 3) & ~3


def _message(data: bytes) -> tuple[int, int, dict[int, bytes]]:
    _, _, state, _, inode, *_ = _SOCKET.unpack_from(data)
    attributes: dict[int, bytes] = {}
    at = _SOCKET.size
    while at < len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        attributes[kind] = data[at + _ATTRIBUTE.size : at + length]
        at += max(4, (length + 3) & ~3)
    return state, inode, attributes


def _listener(name: str) -> int | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(name))
            size = struct.calcsize("3i")
            process, *_ = struct.unpack(
                "3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            )
        except OSError:  # it has ended, does not listen, or has too many look-ups
            return None
    return process or None


def _has(process: int, inode: int) -> bool:
    """Return whether this process has the socket open, as far as this user can see."""
    wanted = f"socket:[{inode}]"
    with suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/{process}/fd/{number}") == wanted:
                    return True
    return False


def _users(process: int) -> set[int]:
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("Uid:"):
            return set(map(int, line.split()[1:]))
    return set()


def _clock(at: float) -> str:
    is_today = time.time() - at < _DAY_S
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M", time.localtime(at))
