"""Whether a process that was noted once still lives: by its id and when it began.

Owns: the note. Must not know: whose processes they are.
"""

import os

import psutil


def note(process: int | None = None) -> str:
    """Of that process, or of this one; for `is_alive`."""
    pid = os.getpid() if process is None else process
    return f"{pid} {psutil.Process(pid).create_time()}"


def is_alive(noted: str) -> bool:
    """Whether the process of a `note` still runs. Raises ValueError for what is none."""
    process, began = noted.split()
    return lives(int(process), float(began))


def lives(process: int, began: float | None) -> bool:
    """Whether that process, which began then (Unix time), still runs."""
    try:
        found = psutil.Process(process)
        if found.status() == psutil.STATUS_ZOMBIE:  # dead, and nobody has asked how it ended
            return False
        return began is None or abs(found.create_time() - began) < 1.0
    except psutil.Error:
        return False
