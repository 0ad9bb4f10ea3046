"""The state of a baseline proxy during its run, for the console.

The file `proxy.json` is in the folder of such a run only while customers send requests.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.files.run_folder import RunFolder

EVERY_S: Final = 0.4
"""The interval between two writes of the file, in real seconds; the console reads it twice a
second."""
KEYS: Final = ("policy", "abandonment", "waiting", "in_service", "waiting_by_page", "counts")
"""The parts of a snapshot (docs/admin-api.md) that the file has for a baseline proxy."""


class ProxyStatusFile:
    """The writer of `peer.json`; the file exists from the first `look` until `close`."""

    def __init__(self, folder: RunFolder) -> None:
        self._file = folder.proxy_file
        self._due_s = 0.0

    def look(self, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot of the baseline proxy if the last snapshot is at least `EVERY_S` old."""
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            with suppress(OSError):  # other files of the run report a full disk
                write_json(self._file, {key: snapshot[key] for key in KEYS})

    def close(self) -> None:
        """Remove the file when all customers have gone."""
        self._file.unlink(missing_ok=True)


def read(folder: RunFolder) -> dict[str, Any] | None:
    """Return the newest state of a run's baseline proxy, or None if the run has no baseline
    proxy.
    """
    try:
        found: dict[str, Any] = read_json(folder.proxy_file)
    except ExperimentError:
        return None
    return found
