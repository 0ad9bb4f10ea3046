"""Functions that workers of an executor call."""

import os
import signal
import time
from pathlib import Path

from lab.errors import ExperimentError
from lab.executors.tasks import tell


def square(task):
    """The square, and who worked it out."""
    return {"square": task["n"] ** 2, "pid": os.getpid()}


def halves(task):
    """Says how far it is on its way."""
    tell(0.5)
    return task


def refuse(task):
    """Fails for odd numbers, as an experiment does and as a programmer does."""
    if task % 4 == 1:
        raise ExperimentError(f"{task} is odd")
    if task % 4 == 3:
        raise ZeroDivisionError("odd\nnumber")
    return task


def die(task):
    """Kills its process, the first time (`task["always"]`: every time)."""
    marker = Path(task["marker"])
    if task["always"] or not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def sleep(task):
    """Says that it began, then takes very long the first time."""
    marker = Path(task["marker"])
    first = not marker.exists()
    marker.write_text(str(os.getpid()))
    if first:
        time.sleep(600)
    return "awake"


def square_or_sleep(task):
    """The square, or with a marker a very long sleep."""
    return sleep(task) if "marker" in task else square(task)


def wait_halfway(task):
    """Says that half is done, and goes on once that has been heard."""
    tell(0.5)
    while not Path(task["until"]).exists():
        time.sleep(0.05)
    return "whole"


def count(task):
    """Reports progress ten times a second until `task["until"]`."""
    for progress in range(task["until"]):
        tell(progress)
        time.sleep(0.1)
    return "counted"
