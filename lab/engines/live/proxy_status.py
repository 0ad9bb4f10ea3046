"""The state of a baseline proxy during its run, for the console.

The file `peer.json` is in the folder of such a run only while its customers are there.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.files.run_folder import RunFolder

EVERY_S: Final = 0.4
"""The real seconds between writes; the console reads the file twice a second."""
KEYS: Final = ("policy", "abandonment", "waiting", "in_service", "waiting_by_page", "counts")
"""The parts of a snapshot (docs/admin-api.md) that a baseline proxy supplies."""


class Shown:
    """The writer of the file between `look` and `close`."""

    def __init__(self, folder: RunFolder) -> None:
        self._file = folder.proxy_file
        self._due_s = 0.0

    def look(self, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot of the baseline proxy if the last one is old enough."""
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            with suppress(OSError):  # the run's files will report a full disk
                write_json(self._file, {key: snapshot[key] for key in KEYS})

    def close(self) -> None:
        """Remove the file after the customers have gone."""
        self._file.unlink(missing_ok=True)


def read(folder: RunFolder) -> dict[str, Any] | None:
    """Return the newest state of the baseline proxy of a run, or None for a run without a baseline
    proxy."""
    try:
        found: dict[str, Any] = read_json(folder.proxy_file)
    except ExperimentError:
        return None
    return found
