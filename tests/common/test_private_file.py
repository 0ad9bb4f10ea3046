"""Files, locks and sockets of one user in folders that others may enter."""

import os
import subprocess
import sys

import pytest

from common import private_file
from runtime.settings import REPOSITORY

STRANGER = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")


@pytest.fixture
def long(tmp_path):
    """A path that is too long for a socket, with a folder it can be in."""
    folder = tmp_path / ("a" * 60) / ("b" * 60)
    folder.mkdir(parents=True)
    return folder / "own.sock"


@pytest.mark.parametrize("folder", ["a" * 60, "\u00e4" * 30])
def test_a_short_socket_stays_in_its_folder(tmp_path, monkeypatch, folder):
    """A socket whose path is short enough is where it is wanted."""
    monkeypatch.chdir(tmp_path)
    wanted = (tmp_path / folder).relative_to(tmp_path) / "own.sock"
    assert private_file.make_socket_path(wanted) == wanted == private_file.socket_path(wanted)


def test_a_long_one_has_a_private_folder_that_every_process_finds(long):
    """The folder has mode 700 and a random name, and the link in the wanted place leads there."""
    there = private_file.make_socket_path(long)
    try:
        assert there.parent.stat().st_mode & 0o777 == 0o700
        assert len(os.fsencode(there)) < 90
        assert private_file.socket_path(long) == there
        assert private_file.make_socket_path(long) == there
    finally:
        private_file.remove_socket(long)
    assert not there.parent.exists()
    assert private_file.socket_path(long) == long


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o711])
def test_a_folder_that_others_may_enter_is_not_used(long, tmp_path, mode):
    """A link to a folder that is open to other users leads nowhere; a new folder is made."""
    opened = tmp_path / "open"
    opened.mkdir()
    opened.chmod(mode)
    long.symlink_to(opened / "own.sock")
    assert private_file.socket_path(long) == long
    there = private_file.make_socket_path(long)
    assert there.parent != opened
    private_file.remove_socket(long)


def test_a_lock_is_closed_to_others_and_free_afterwards(tmp_path):
    """The file has mode 600 whatever the umask, and a second process is refused."""
    lock = tmp_path / "lock"
    before = os.umask(0)
    try:
        with private_file.locked(lock, waits=False):
            assert lock.stat().st_mode & 0o777 == 0o600
            with pytest.raises(BlockingIOError), private_file.locked(lock, waits=False):
                pass
    finally:
        os.umask(before)
    with private_file.locked(lock, waits=False):
        pass


def test_a_lock_follows_no_link_and_no_pipe_blocks_it(tmp_path):
    """A link or a pipe that another program put in the lock's place is refused."""
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with (
            pytest.raises(OSError, match=r"not a|Too many"),
            private_file.locked(tmp_path / name, waits=False),
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
    with private_file.locked(ours, waits=False):
        pass
    theirs.touch(0o666)
    theirs.chmod(0o666)
    os.chown(theirs, STRANGER, STRANGER)
    script = (
        "import os, pathlib; from common import private_file\n"
        "os.setresuid(65533, 65533, 65533)\n"
        f"for path in ({str(ours)!r}, {str(theirs)!r}):\n"
        "    try:\n"
        "        with private_file.locked(pathlib.Path(path), waits=False): print('locked')\n"
        "    except PermissionError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["refused", "refused"], done.stderr
