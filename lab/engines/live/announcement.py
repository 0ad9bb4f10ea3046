"""Files that announce live runs in progress to other processes, for example the console.

Each run has a file, which the run's process locks. The kernel releases the lock when the process
ends. A reader removes files that are not locked. A repeated run has a new file, so that a reader
does not remove it together with the file of the interrupted run.

    {"experiment": "20261121T…", "run": "003-sq-rho1.4-seed1", "policy": "sq", …, "customers": {…}}

The measurement of the capacity before the first run also has such a file; its `until` is a Unix
time:

    {"experiment": "capacity", "measures": "Title of the spec", "until": 1795000000.0, …}
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from common import locks

FOLDER = "live-runs"


class RunAnnouncement:
    """The announcement of a run in progress, from the creation of this object until `close`.

    Errors while writing are ignored, so that a full disk does not end the run.
    """

    def __init__(self, state_dir: Path, facts: Mapping[str, object]) -> None:
        """Announce `facts`. The name of the file is made of the values of `experiment` and `run`
        and the present time.
        """
        self._facts = dict(facts)
        self._length = 0
        self._handle: int | None = None
        name = f"{facts['experiment']}.{facts['run']}"
        self._path = state_dir / FOLDER / f"{name}.{time.time_ns()}.json"
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unlocked = self._path.with_name(f"{name}.new")
            # O_TRUNC empties an unfinished file that a killed process may have left.
            how = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            self._handle = os.open(unlocked, how, 0o600)
            locks.hold(self._handle, waits=True)
            self.tell({})
            unlocked.rename(self._path)  # readers find a locked file with content

    def tell(self, customers: Mapping[str, Any]) -> None:
        """Announce the load generator's newest counts (`loadgen.tally`)."""
        if self._handle is None:
            return
        text = json.dumps({**self._facts, "customers": customers}).encode()
        # A single write replaces the old text; JSON permits the blanks at the end.
        padded = text.ljust(self._length)
        self._length = len(text)
        with contextlib.suppress(OSError):
            os.pwrite(self._handle, padded, 0)

    def close(self) -> None:
        """Remove the announcement after the end of the run."""
        if self._handle is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None


@contextlib.contextmanager
def told_measuring(state_dir: Path, title: str, expected_s: float) -> Iterator[None]:
    """Announce, until the block ends, a capacity measurement for the spec with this title.

    `expected_s` is its expected duration in real seconds.
    """
    facts = {"measures": title, "until": time.time() + expected_s}
    told = RunAnnouncement(state_dir, {"experiment": "capacity", "run": str(os.getpid()), **facts})
    try:
        yield
    finally:
        told.close()


def under_way(state_dir: Path) -> list[dict[str, Any]]:
    """Return the newest announcement of every run in progress."""
    return [one for one in _told(state_dir) if "measures" not in one]


def measuring(state_dir: Path) -> dict[str, Any] | None:
    """Return the announcement of a capacity measurement in progress, or None."""
    return next((one for one in _told(state_dir) if "measures" in one), None)


def _told(state_dir: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted((state_dir / FOLDER).glob("*.json")):
        # If a file disappears or changes at this moment, the next call reads its new state.
        with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
            if locks.is_held(file.fileno()):
                found.append(json.loads(file.read()))
            else:
                path.unlink(missing_ok=True)
    return found
