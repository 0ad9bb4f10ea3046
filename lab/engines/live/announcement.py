"""The live runs in progress, announced to other processes: the console and its metrics.

A run has a file, which its process holds locked as long as it lives: the kernel lets go of the lock
however a process ends, so a file that can be locked is nobody's and is removed.

    {"experiment": "20261121T…", "run": "003-sq-rho1.4-seed1", "policy": "sq", …, "customers": {…}}

A measurement of the capacity before the first run has such a file, too; `until` is Unix time:

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


class ToldRun:
    """A run under way, from when this is made until `close`.

    What cannot be written is left out: a full disk ends no run.
    """

    def __init__(self, state_dir: Path, facts: Mapping[str, object]) -> None:
        """`facts`: at least `experiment` and `run`, names of folders."""
        self._facts = dict(facts)
        self._length = 0
        self._handle: int | None = None
        self._path = state_dir / FOLDER / f"{facts['experiment']}.{facts['run']}.json"
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unlocked = self._path.with_suffix(".new")
            # One that a killed process left unfinished is emptied.
            how = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            self._handle = os.open(unlocked, how, 0o600)
            locks.hold(self._handle, waits=True)
            self.tell({})
            unlocked.rename(self._path)  # nobody finds it before it is held and says something

    def tell(self, customers: Mapping[str, Any]) -> None:
        """The load generator's newest counts (`loadgen.tally`)."""
        if self._handle is None:
            return
        text = json.dumps({**self._facts, "customers": customers}).encode()
        # In one piece and over what was there: blanks after an object are JSON, too.
        padded = text.ljust(self._length)
        self._length = len(text)
        with contextlib.suppress(OSError):
            os.pwrite(self._handle, padded, 0)

    def close(self) -> None:
        """The run has ended."""
        if self._handle is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None


@contextlib.contextmanager
def told_measuring(state_dir: Path, title: str, expected_s: float) -> Iterator[None]:
    """Tell, within the block, that a capacity is being measured for the spec of this title.

    `expected_s` is how long that takes, in real seconds.
    """
    facts = {"measures": title, "until": time.time() + expected_s}
    told = ToldRun(state_dir, {"experiment": "capacity", "run": str(os.getpid()), **facts})
    try:
        yield
    finally:
        told.close()


def under_way(state_dir: Path) -> list[dict[str, Any]]:
    """What every run under way has told last."""
    return [one for one in _told(state_dir) if "measures" not in one]


def measuring(state_dir: Path) -> dict[str, Any] | None:
    """What a measurement of the capacity tells; None while there is none."""
    return next((one for one in _told(state_dir) if "measures" in one), None)


def _told(state_dir: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted((state_dir / FOLDER).glob("*.json")):
        # One that ends or writes right now is looked at the next time.
        with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
            if locks.is_held(file.fileno()):
                found.append(json.loads(file.read()))
            else:
                path.unlink(missing_ok=True)
    return found
