"""Files that are whole after a power cut."""

import os
import stat
from contextlib import suppress

import pytest

from common import private_file


@pytest.fixture
def full_disk(small_disk):
    """A full file system with a file `secrets.json`."""
    (small_disk / "secrets.json").write_text("old")
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while ballast.write(b"x" * 4096):
            pass
    return small_disk


def test_its_content_is_on_disk_before_its_name_and_the_name_afterwards(tmp_path, monkeypatch):
    """A rename without fsync may leave an empty file after a power cut."""
    path, flushed = tmp_path / "secrets.json", []
    fsync = os.fsync

    def noted(opened):
        fsync(opened)
        is_folder = stat.S_ISDIR(os.fstat(opened).st_mode)
        flushed.append(("folder" if is_folder else "file", path.exists()))

    monkeypatch.setattr(os, "fsync", noted)
    private_file.write(path, b"{}")
    assert flushed == [("file", False), ("folder", True)]
    assert path.read_bytes() == b"{}"
    assert path.stat().st_mode & 0o777 == 0o600


def test_others_read_it_only_where_that_is_asked_for(tmp_path):
    """The mode does not depend on the umask."""
    before = os.umask(0o077)
    try:
        private_file.write(tmp_path / "targets.json", b"[]", 0o644)
    finally:
        os.umask(before)
    assert (tmp_path / "targets.json").stat().st_mode & 0o777 == 0o644


def test_a_full_disk_leaves_the_old_content_and_nothing_beside_it(full_disk):
    """The old file stays when the new one does not fit."""
    path = full_disk / "secrets.json"
    with pytest.raises(OSError, match="No space left"):
        private_file.write(path, b"x" * 200_000)
    assert path.read_bytes() == b"old"
    assert [one.name for one in full_disk.glob("*secrets*")] == ["secrets.json"]


def test_two_writers_do_not_disturb_each_other(tmp_path, monkeypatch):
    """A second writer may replace the file while the first is about to."""
    path, put = tmp_path / "secrets.json", private_file.put

    def put_after_another(aside, path):
        monkeypatch.setattr(private_file, "put", put)
        private_file.write(path, b"second")
        assert path.read_bytes() == b"second"
        put(aside, path)

    monkeypatch.setattr(private_file, "put", put_after_another)
    private_file.write(path, b"first")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]
