"""A note of a process by its id and start time, to see later whether it still lives."""

import os

import psutil


def note(process: int | None = None) -> str:
    """Return the note of that process, by default of this one, for `is_alive`."""
    pid = os.getpid() if process is None else process
    return f"{pid} {psutil.Process(pid).create_time()}"


def is_alive(noted: str) -> bool:
    """Return whether the process of a `note` still runs. Raises ValueError for an invalid note."""
    process, began = noted.split()
    return lives(int(process), float(began))


def lives(process: int, began: float | None) -> bool:
    """Return whether that process, which began then (Unix time), still runs."""
    try:
        found = psutil.Process(process)
        if found.status() == psutil.STATUS_ZOMBIE:  # dead, its status unread
            return False
        return began is None or abs(found.create_time() - began) < 1.0
    except psutil.Error:
        return False
