"""Locks on files and folders, also in folders that other users may enter."""

import os

import pytest

from common import locks
from tests.programs import python

STRANGER = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")


def test_a_lock_is_closed_to_others_and_free_afterwards(tmp_path):
    """The file has mode 600 whatever the umask, and a second process is refused."""
    lock = tmp_path / "lock"
    before = os.umask(0)
    try:
        with locks.locked(lock, waits=False):
            assert lock.stat().st_mode & 0o777 == 0o600
            with pytest.raises(BlockingIOError), locks.locked(lock, waits=False):
                pass
    finally:
        os.umask(before)
    with locks.locked(lock, waits=False):
        pass


def test_a_lock_follows_no_link_and_no_pipe_blocks_it(tmp_path):
    """A link or a pipe that another program put in the lock's place is refused."""
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with (
            pytest.raises(OSError, match=r"not a|Too many"),
            locks.locked(tmp_path / name, waits=False),
        ):
            pass


@as_root
def test_another_user_can_neither_take_nor_prepare_a_lock(tmp_path):
    """Another user may neither open this user's lock file nor have this user lock theirs."""
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o011)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    ours, theirs = tmp_path / "shared" / "ours", tmp_path / "shared" / "theirs"
    with locks.locked(ours, waits=False):
        pass
    theirs.touch(0o666)
    theirs.chmod(0o666)
    os.chown(theirs, STRANGER, STRANGER)
    script = (
        "import os, pathlib; from common import locks\n"
        "os.setresuid(65533, 65533, 65533)\n"
        f"for path in ({str(ours)!r}, {str(theirs)!r}):\n"
        "    try:\n"
        "        with locks.locked(pathlib.Path(path), waits=False): print('locked')\n"
        "    except PermissionError: print('refused')\n"
    )
    done = python("-c", script)
    assert done.stdout.split() == ["refused", "refused"], done.stderr


def test_a_held_folder_is_held_until_it_is_closed(tmp_path):
    """A second holder is refused; a file found free stays free until it is closed."""
    first, second, third = (os.open(tmp_path, os.O_RDONLY) for _ in range(3))
    locks.hold(first)
    assert locks.is_held(second)
    with pytest.raises(BlockingIOError):
        locks.hold(second)
    os.close(first)
    assert not locks.is_held(second)
    with pytest.raises(BlockingIOError):
        locks.hold(third)
    os.close(second)
    locks.hold(third, waits=True)
    os.close(third)
