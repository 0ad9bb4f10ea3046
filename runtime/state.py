"""The state folder, which keeps the data of one appliance.

Its lock lets only one command at a time change the folder.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from common import locks, private_file
from runtime.settings import REPOSITORY, default_state_dir

MARKER = "doorbuster-state"
_OTHER_MARKS = ("secrets.json", "supervisord.conf", "signatures.json")
"""The files that also identify a state folder, because commands may write them before `make up`
writes the marker.
"""
LEAST_DISK_BYTES = 512 * 1024**2
_PASSED_THROUGH = ("postgres", "redis")
"""The folders that belong to the accounts of PostgreSQL and Redis, if root starts the appliance."""
_SHARED = ("certificates", "prometheus", "postgresql")
"""The folders with files for other accounts: the certificate authority for browsers, Prometheus'
configuration for containers, and programs for the account under which root starts PostgreSQL.
Secrets in these folders have mode 600.
"""


class StateError(RuntimeError):
    """The error for an unusable state folder; its message has the fix."""


NO_LOCKS = (
    "is on a disk without file locks (perhaps NFS); fix: set "
    "DOORBUSTER_STATE_DIR (environment or .env) to a folder on a disk of this machine"
)


def said(error: OSError) -> str:
    """Return the system's message in one line, with the file if the error names a file. If several
    files of a folder cannot be copied, return the message about the first one.
    """
    if isinstance(error, shutil.Error):
        (_, _, first), *_ = error.args[0]
        return str(first)
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


def digest_of(parts: Iterable[str]) -> str:
    """Return a digest of these files and folders, whose paths are relative to the repository."""
    digest = hashlib.sha256()
    for part in parts:
        root = REPOSITORY / part
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{os.path.relpath(path, REPOSITORY)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class State:
    """The state folder and its paths."""

    folder: Path

    @property
    def postgres(self) -> Path:
        """The database cluster."""
        return self.folder / "postgres"

    @property
    def redis(self) -> Path:
        """The folder of Redis' configuration; its data is in memory."""
        return self.folder / "redis"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def log(self, service: str) -> Path:
        return self.logs / f"{service}.log"

    def stamp(self, name: str) -> Path:
        """Return the path of the file with the version that was last recorded under this name."""
        return self.folder / "stamps" / name

    def stamped(self, name: str, version: str) -> bool:
        """Return whether `version` is the version that was last recorded under this name."""
        path = self.stamp(name)
        return path.exists() and path.read_text() == version

    def write_stamp(self, name: str, version: str) -> None:
        """Record a version under this name, for example the version of a started service."""
        private_file.write(self.stamp(name), version.encode())

    @property
    def is_ours(self) -> bool:
        """Whether an appliance has created the folder."""
        return any((self.folder / name).exists() for name in (MARKER, *_OTHER_MARKS))

    @property
    def is_somebodys(self) -> bool:
        """Whether the folder contains files, but no appliance has created it; False for the default
        folder.
        """
        if self.folder == default_state_dir() or not self.folder.is_dir():
            return False
        return not self.is_ours and any(self.folder.iterdir())

    def make(self) -> None:
        """Create the folder, closed to other users. Raises `StateError` if it cannot be written or
        has other files, or if the disk is full."""
        try:
            self._make_folder()
            for folder in (self.logs, self.folder / "stamps"):
                folder.mkdir(mode=0o700, exist_ok=True)
            marker = b"Written by Doorbuster; `make reset` empties it.\n"
            private_file.write(self.folder / MARKER, marker)
        except OSError as error:
            raise self._unwritable(error) from error
        if not self.has_locks:
            raise StateError(f"{self.folder} {NO_LOCKS}")
        free = shutil.disk_usage(self.folder).free
        if free < LEAST_DISK_BYTES:
            raise StateError(
                f"only {free // 1024**2} MB are free on the disk of {self.folder}, and at least "
                f"{LEAST_DISK_BYTES // 1024**2} MB are needed; fix: free some space, or set "
                "DOORBUSTER_STATE_DIR (environment or .env) to a folder on another disk"
            )

    def _make_folder(self) -> None:
        if self.is_somebodys:
            # `make reset` empties this folder.
            raise StateError(
                f"DOORBUSTER_STATE_DIR: {self.folder} already contains other files; fix: use a "
                f"folder only for Doorbuster, for example {self.folder / 'doorbuster'}"
            )
        missing = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            for folder in missing:  # independent of root's umask
                folder.chmod(0o711 if folder == self.folder else 0o755)

    def _unwritable(self, error: OSError) -> StateError:
        return StateError(
            f"the state folder {self.folder} cannot be written: {said(error)}; "
            "fix: free some space if its disk is full, or set DOORBUSTER_STATE_DIR (environment "
            "or .env) to a folder that you own"
        )

    def close_to_others(self, results: Path) -> None:
        """Close paths that an earlier version or another umask left open to other users.

        Raises `StateError` if a path cannot be changed.
        """
        try:
            for path in self.open_to_others(results):
                mode = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode & ~0o077 | mode & self._allowed(path))
        except OSError as error:
            raise self._unwritable(error) from error

    def open_to_others(self, results: Path) -> list[Path]:
        """Return the paths that are open to other users but should not be: the folder itself, and
        paths in it.

        The folder of results and other users' paths are left out. Raises OSError if a path
        cannot be read.
        """
        if not self.folder.is_dir() or not stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
            return []
        found = []
        for path in (self.folder, *self.folder.iterdir(), self.folder / "prometheus" / "data"):
            try:
                facts = path.lstat()
            except FileNotFoundError:
                continue
            is_kept = results.is_relative_to(path) and path != self.folder
            is_file = stat.S_ISDIR(facts.st_mode) or stat.S_ISREG(facts.st_mode)
            if is_kept or not is_file or path.name in _PASSED_THROUGH:
                continue
            if os.geteuid() not in (facts.st_uid, 0):
                continue
            if stat.S_IMODE(facts.st_mode) & 0o077 & ~self._allowed(path):
                found.append(path)
        return found

    def _allowed(self, path: Path) -> int:
        """Return the permission bits that other users may have on this path."""
        if path == self.folder:  # root's PostgreSQL and Redis must reach their folders
            return 0o000 if os.geteuid() else 0o011
        return 0o055 if path.name in _SHARED else 0o000

    def empty(self, keep: Path) -> None:
        """Remove everything in the folder except `keep`.

        Raises `StateError` for a folder that Doorbuster did not create, or that cannot be written.
        """
        if not self.folder.exists():
            return
        if not (self.folder / MARKER).exists():
            raise StateError(
                f"{self.folder} has no file {MARKER}, so it is not a state folder of Doorbuster "
                f"and is not changed; fix: check DOORBUSTER_STATE_DIR, or remove the folder by hand"
            )
        try:
            self._empty(keep)
        except OSError as error:
            raise StateError(
                f"the state folder {self.folder} cannot be emptied: {said(error)}; fix: make it "
                "writable (is its disk mounted read-only?), then make reset"
            ) from error

    def _empty(self, keep: Path) -> None:
        for entry in self.folder.iterdir():
            # The marker is removed last, so that an interrupted reset can be repeated.
            if entry.name == MARKER or keep.is_relative_to(entry):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        if [entry.name for entry in self.folder.iterdir()] == [MARKER]:
            (self.folder / MARKER).unlink()
            self.folder.rmdir()
        # Otherwise, `keep` is in the folder, which keeps its marker.

    @property
    def has_locks(self) -> bool:
        """Whether the folder's disk supports the locks that the appliance needs.

        NFS without its lock service cannot lock files. It can lock folders, but only against
        processes of the same machine.
        """
        here = next(one for one in (self.folder, *self.folder.parents) if one.exists())
        try:
            with tempfile.TemporaryFile(dir=here) as probe:
                locks.hold(probe.fileno())
        except OSError as error:
            return not locks.are_missing(error)  # other checks report other faults
        return True

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other commands that change it, such as `make up`."""
        if not self.folder.exists():
            yield
            return
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                locks.hold(folder)
            except BlockingIOError:
                raise StateError(
                    "another make up, down, reset or certs of this appliance is running; fix: wait "
                    "until it has ended"
                ) from None
            except OSError as error:
                if locks.are_missing(error):
                    raise StateError(f"{self.folder} {NO_LOCKS}") from error
                raise
            yield
        finally:
            os.close(folder)
