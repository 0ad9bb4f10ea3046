"""Sockets of one user in folders that others may enter."""

import os

import pytest

from common import private_file


@pytest.fixture
def long(tmp_path):
    """Return a path that is too long for a socket, in a folder that exists."""
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
