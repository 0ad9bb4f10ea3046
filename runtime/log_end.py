"""What a process said last, for the message that says why it ended.

Owns: how that is read and shown. Must not know: which process.
"""

from pathlib import Path

MOST_LINES = 8


def of(log: Path, most: int = MOST_LINES) -> str:
    """The end of a log and where the rest is: `last lines of …:`, and below it those lines."""
    try:
        said = log.read_text(errors="replace")
    except OSError:
        said = ""
    return f"last lines of {log}:\n{shown(said, most)}"


def shown(said: str, most: int = MOST_LINES) -> str:
    """The last lines, set in; says so if there is none."""
    lines = said.splitlines()[-most:]
    return "\n".join(f"    {line}" for line in lines) or "    (it printed nothing)"


def last_line(said: str) -> str:
    """The last line with something in it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
