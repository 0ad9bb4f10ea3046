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

MARKER = "doorbuster-state"
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

    def make(self) -> None:
        """Make the folder. Raises `StateError` if it cannot be written or the disk is full."""
        try:
            fresh = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            if fresh and os.geteuid() == 0:
                # PostgreSQL's own user passes through; nobody else sees what is in it.
                self.folder.chmod(0o711)
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
        (self.folder / MARKER).unlink()
        with contextlib.suppress(OSError):  # results may lie in it
            self.folder.rmdir()

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
