"""The last lines of a process's log, which explain its end."""

import os
from pathlib import Path
from typing import Final

MOST_LINES: Final = 8
_MOST_BYTES: Final = 256 * 1024


def read(log: Path) -> str:
    """Return the end of a log, at most 256 KiB; empty if it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def of(log: Path, most: int = MOST_LINES) -> str:
    """Return the line `last lines of …:` with the log's path, and the last lines of the log."""
    return f"last lines of {log}:\n{shown(read(log), most)}"


def shown(printed: str, most: int = MOST_LINES) -> str:
    """Return the last lines of the log, indented, or the line `(it printed nothing)`."""
    lines = printed.splitlines()[-most:]
    return "\n".join(f"    {line}" for line in lines) or "    (it printed nothing)"


def last_line(printed: str, otherwise: str = "it printed nothing") -> str:
    """Return the last line of the log that is not blank, or `otherwise`."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return lines[-1] if lines else otherwise
