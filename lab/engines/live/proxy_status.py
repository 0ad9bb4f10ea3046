"""The state of a baseline proxy during its run, for the console.

The file peer.json is in the folder of such a run only while its customers come.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.files.run_folder import RunFolder

EVERY_S: Final = 0.4
"""Real seconds; the console looks twice a second."""
KEYS: Final = ("policy", "abandonment", "waiting", "in_service", "waiting_by_page", "counts")
"""Of a snapshot (docs/admin-api.md): what the baseline proxy has in the gateway's place."""


class Shown:
    """Keeps the file up to date between `look` and `close`."""

    def __init__(self, folder: RunFolder) -> None:
        self._file = folder.proxy_file
        self._due_s = 0.0

    def look(self, snapshot: Mapping[str, Any]) -> None:
        """A snapshot of the baseline proxy; written when the last one is old enough."""
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            with suppress(OSError):  # of a full disk the run's own files will say more
                write_json(self._file, {key: snapshot[key] for key in KEYS})

    def close(self) -> None:
        """The customers have gone."""
        self._file.unlink(missing_ok=True)


def read(folder: RunFolder) -> dict[str, Any] | None:
    """What was last shown of a run behind a baseline proxy; None of any other."""
    try:
        found: dict[str, Any] = read_json(folder.proxy_file)
    except ExperimentError:
        return None
    return found
