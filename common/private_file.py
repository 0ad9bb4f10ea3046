"""Files and sockets that, by default, only their owner can use, even in open folders."""

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

_LONGEST_SOCKET_PATH_BYTES: Final = 90
"""The maximum length of a socket's path in bytes: the kernel accepts 107, and supervisord appends
its process id.
"""
_SOCKET_FOLDER_PREFIX: Final = "doorbuster-"


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file completely or not at all; it never has more permissions than `mode`."""
    # Two processes can write the same file, so each has a draft with a random name.
    opened, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    aside = Path(draft)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        put(aside, path)
    except BaseException:  # for example a full disk, or Ctrl-C
        aside.unlink(missing_ok=True)
        raise


def put(aside: Path, path: Path) -> None:
    """Rename `aside`, a file or folder on the same file system, to `path`.

    The content is written to the disk before the rename. After a power failure, `path` therefore
    has either the complete old content or the complete new content.
    """
    _flush(aside)
    aside.replace(path)
    _flush(path.parent)


def socket_path(wanted: Path) -> Path:
    """Return the path at which the socket `wanted` can be opened. If this path is too long for a
    socket, `wanted` is a link to a socket in a private folder.
    """
    if _fits(wanted):
        return wanted
    try:
        there = wanted.readlink()
    except OSError:
        return wanted  # without the link, there is no server
    return there if _is_private(there.parent) else wanted


def make_socket_path(wanted: Path) -> Path:
    """Return the path at which to create the socket `wanted`.

    If the path of `wanted` is too long for a socket, `wanted` becomes a link into a new private
    folder with a random name. Raises OSError if every path is too long or a folder or link cannot
    be created.
    """
    there = socket_path(wanted)
    if _fits(there):
        return there
    for parent in (tempfile.gettempdir(), "/tmp"):
        folder = Path(tempfile.mkdtemp(prefix=_SOCKET_FOLDER_PREFIX, dir=parent))
        there = folder / wanted.name
        if _fits(there):
            wanted.unlink(missing_ok=True)
            wanted.symlink_to(there)
            return there
        folder.rmdir()
    raise OSError(f"{there}: too long for a socket; fix: set TMPDIR to a shorter path")


def remove_socket(wanted: Path) -> None:
    """Remove the socket `wanted`, and its separate folder, if any."""
    there = socket_path(wanted)
    there.unlink(missing_ok=True)
    if there != wanted:
        shutil.rmtree(there.parent)
        wanted.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH_BYTES


def _is_private(folder: Path) -> bool:
    try:
        facts = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(facts.st_mode)
        and facts.st_uid == os.geteuid()
        and not stat.S_IMODE(facts.st_mode) & 0o077
    )
