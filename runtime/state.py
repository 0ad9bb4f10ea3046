"""The state folder: where everything lives that one appliance keeps between two commands.

Owns: its layout, its making and emptying, and the lock that lets one command at a time change it.
Must not know: what the services write into it.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runtime.settings import default_state_dir

MARKER = "doorbuster-state"
_OTHER_MARKS = ("secrets.json", "supervisord.conf", "signatures.json")
"""By which one without a marker is known: commands that need no appliance write there, too."""
LEAST_DISK_BYTES = 512 * 1024**2


class StateError(RuntimeError):
    """The state folder cannot be used; the message says the mend."""


@dataclass(frozen=True, slots=True)
class State:
    """The folder and where things are in it."""

    folder: Path

    @property
    def postgres(self) -> Path:
        """The database cluster."""
        return self.folder / "postgres"

    @property
    def redis(self) -> Path:
        """Redis' configuration; its data is in memory."""
        return self.folder / "redis"

    @property
    def logs(self) -> Path:
        """One log per service."""
        return self.folder / "logs"

    def log(self, service: str) -> Path:
        """What this service printed."""
        return self.logs / f"{service}.log"

    def stamp(self, name: str) -> Path:
        """Which version of something was started last."""
        return self.folder / "stamps" / name

    def stamped(self, name: str, version: str) -> bool:
        """Whether `version` is what was stamped last."""
        path = self.stamp(name)
        return path.exists() and path.read_text() == version

    @property
    def is_ours(self) -> bool:
        """Whether an appliance has made it."""
        return any((self.folder / name).exists() for name in (MARKER, *_OTHER_MARKS))

    @property
    def is_somebodys(self) -> bool:
        """Whether there is something in it that no appliance has made."""
        if self.folder == default_state_dir() or not self.folder.is_dir():
            return False
        return not self.is_ours and any(self.folder.iterdir())

    def make(self) -> None:
        """Make the folder.

        Raises `StateError` if it cannot be written, the disk is full, or it is somebody's.
        """
        try:
            self._make_folder()
            for folder in (self.logs, self.stamp("").parent, self.folder / "stamps"):
                folder.mkdir(exist_ok=True)
            (self.folder / MARKER).write_text("Written by Doorbuster; `make reset` empties it.\n")
        except OSError as error:
            raise StateError(
                f"the state folder {self.folder} cannot be written: {error.strerror}; "
                "mend: set DOORBUSTER_STATE_DIR (environment or .env) to a folder of yours"
            ) from error
        free = shutil.disk_usage(self.folder).free
        if free < LEAST_DISK_BYTES:
            raise StateError(
                f"only {free // 1024**2} MB free where {self.folder} lies, at least "
                f"{LEAST_DISK_BYTES // 1024**2} MB are needed; mend: free some, or set "
                "DOORBUSTER_STATE_DIR (environment or .env) to a folder on another disk"
            )

    def _make_folder(self) -> None:
        if self.is_somebodys:
            # `make reset` is going to empty it.
            raise StateError(
                f"DOORBUSTER_STATE_DIR: there is something else in {self.folder} already; "
                f"mend: a folder of Doorbuster's own, {self.folder / 'doorbuster'} say"
            )
        missing = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            # PostgreSQL's own user passes through, whatever umask root has; nobody else sees what
            # is in it.
            for folder in missing:
                folder.chmod(0o711 if folder == self.folder else 0o755)

    def empty(self, keep: Path) -> None:
        """Remove everything in the folder but `keep`.

        Raises `StateError` for a folder that Doorbuster did not make.
        """
        if not self.folder.exists():
            return
        if not (self.folder / MARKER).exists():
            raise StateError(
                f"{self.folder} has no file {MARKER}, so it is not a state folder of Doorbuster "
                "and is left alone; mend: check DOORBUSTER_STATE_DIR, or remove it by hand"
            )
        for entry in self.folder.iterdir():
            # The marker goes last: an interrupted reset can be run again.
            if entry.name == MARKER or keep.is_relative_to(entry):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        if [entry.name for entry in self.folder.iterdir()] == [MARKER]:
            (self.folder / MARKER).unlink()
            self.folder.rmdir()
        # Else what is to be kept lies in it, and the folder stays known as ours.

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder against other `make up`, `make down` and `make reset`."""
        if not self.folder.exists():
            yield
            return
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StateError(
                    "another make up, down or reset of this appliance is under way; "
                    "mend: wait until it has ended"
                ) from None
            yield
        finally:
            os.close(folder)
