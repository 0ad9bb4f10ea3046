"""A home on NFS without file locks: the refusal names the setting, and the bootstrap goes on."""

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from runtime import doctor
from runtime.doctor import Verdict
from runtime.settings import load
from runtime.state import State, StateError
from tests.runtime.test_bootstrap import bootstrap, clone  # noqa: F401 - a fixture

FIX = "set DOORBUSTER_STATE_DIR (environment or .env) to a folder on a disk of this machine"


# NFS without its lock service, NFS with it (a folder is only open for reading), and FUSE.
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EBADF, errno.ENOSYS])
def test_a_state_folder_without_locks_is_refused_with_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The doctor reports it before a start, and `make up` refuses."""

    def flock(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    state = State(tmp_path / "state")
    state.make()
    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StateError) as refused, state.locked():
        pass
    assert str(refused.value).endswith(FIX)
    monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(state.folder))
    found = {one.subject: one for one in doctor.examine()}["State folder"]
    assert (found.verdict, found.fix) == (Verdict.BAD, FIX)


def test_a_disk_that_locks_only_folders_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does the real NFS 3 without its lock service."""

    def flock(handle: int, _: int) -> None:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    state = State(tmp_path / "state")
    assert not state.has_locks
    with pytest.raises(StateError) as refused:
        state.make()
    assert str(refused.value).endswith(FIX)
    with state.locked():  # an appliance that was started there can be stopped
        assert state.folder.exists()


def test_a_lock_that_another_process_holds_is_not_a_missing_one(tmp_path: Path) -> None:
    """A second `make up` waits or is refused; its disk is fine."""
    state = State(tmp_path / "state")
    state.make()
    with state.locked():
        assert state.has_locks
    assert load({"DOORBUSTER_STATE_DIR": str(state.folder)}, tmp_path).state_dir == state.folder


def test_the_bootstrap_works_in_a_folder_without_locks(clone: Path) -> None:  # noqa: F811
    """The program flock ends with another status than for a lock that is held."""
    programs = clone / "bin"
    programs.mkdir()
    (programs / "flock").write_text("#!/bin/sh\necho 'flock: 9: No locks available' >&2; exit 71\n")
    (programs / "flock").chmod(0o755)
    old = clone / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    code, printed = bootstrap(clone, PATH=path, PYTHON=str(old))
    assert code == 1
    assert "Doorbuster needs Python 3.11 to 3.14" in printed  # the step after the lock
    assert "No locks" not in printed
