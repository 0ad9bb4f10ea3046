"""Write the progress of a command to the small JSON file that DOORBUSTER_PROGRESS_FILE names, for
other programs: `{"done_ratio": 0.4, "words": "[2/4] sq …", "folder": "/…/results/…"}`."""

import json
import os
import time
from functools import cached_property
from pathlib import Path

VARIABLE = "DOORBUSTER_PROGRESS_FILE"
EVERY_S = 0.5


class ProgressFile:
    """The progress of a command, which is written only if the environment names a file."""

    def __init__(self) -> None:
        self._said: dict[str, object] = {}
        self._stage = (0.0, 1.0)
        self._written_s = float("-inf")

    @cached_property
    def _path(self) -> Path | None:
        named = os.environ.get(VARIABLE)
        return Path(named) if named else None

    def stage(self, from_ratio: float, to_ratio: float) -> None:
        """Begin a stage, which lasts from `from_ratio` to `to_ratio` of the command's progress.
        Every later `done_ratio` is the progress of this stage."""
        self._stage = (from_ratio, to_ratio)

    def tell(self, *, now: bool = False, **facts: object) -> None:
        """Add facts to the file.

        The file is written at most once every EVERY_S real seconds, or immediately with `now`.
        """
        if isinstance(done := facts.get("done_ratio"), int | float):
            begin, end = self._stage
            facts["done_ratio"] = begin + (end - begin) * done
        self._said |= facts
        if self._path is None or (not now and time.monotonic() - self._written_s < EVERY_S):
            return
        self._written_s = time.monotonic()
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        draft.write_text(json.dumps(self._said, ensure_ascii=False), encoding="utf-8")
        draft.replace(self._path)  # without fsync, because the file has no use after a power cut


progress_file = ProgressFile()
"""The only progress of this process, because a command runs one experiment at a time."""
