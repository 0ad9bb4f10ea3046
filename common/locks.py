"""Locks on files and folders, which the kernel releases when the holder ends."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def are_missing(error: OSError) -> bool:
    """Return whether the error means that the file system has no locks, such as NFS without a lock
    service.
    """
    return error.errno in (errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP, errno.ENOSYS)


def hold(handle: int, *, waits: bool = False) -> None:
    """Lock an open file or folder until it is closed.

    Raises BlockingIOError if another process holds the lock and `waits` is false.
    """
    fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(handle: int) -> bool:
    """Return whether another process holds the lock on this open file.

    If the return value is false, this call has taken a shared lock, so no process can lock the file
    by `hold` until this file is closed.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@contextlib.contextmanager
def locked(path: Path, *, waits: bool) -> Iterator[None]:
    """Hold a lock on the file `path` during the block.

    The file is created with mode 600, because a user who can read a file can lock it. The file is
    not removed. Raises BlockingIOError if another process holds the lock and `waits` is false.
    Raises another OSError if the path is a link, a folder or a special file, or if the file belongs
    to another user (root can lock the files of every user).
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or os.geteuid() not in (facts.st_uid, 0):
            raise PermissionError(f"{path} is not a plain file of this user; fix: remove it")
        os.fchmod(handle, 0o600)
        hold(handle, waits=waits)
        yield
    finally:
        os.close(handle)
