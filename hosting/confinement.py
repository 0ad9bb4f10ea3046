"""The CPUs of the appliance's other processes while a platform borrows some of them.

A program that is started meanwhile on CPUs by name is where it was started.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hosting.processes import threads
from runtime.settings import Settings
from runtime.state import State
from runtime.supervision import left_over


@contextmanager
def confined(lab: Settings, to: tuple[int, ...]) -> Iterator[None]:
    """Within the block everything of the appliance but its shop runs on `to`, this thread too."""
    own = os.sched_getaffinity(0)
    bind(lab, to)
    os.sched_setaffinity(0, to)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)
        bind(lab, lab.other_cpus)


def bind(lab: Settings, to: tuple[int, ...]) -> None:
    """Lets what runs on CPUs that are not the shop's run on `to`; leaves alone what it may not."""
    if lab.shop_cpus == lab.other_cpus:
        return  # a machine with one CPU: nothing tells the two apart
    others = set(lab.other_cpus)
    for process in left_over(State(lab.state_dir)):
        for thread in threads(process.pid):
            with suppress(OSError):  # it has ended, or is another user's
                if os.sched_getaffinity(thread) <= others:
                    os.sched_setaffinity(thread, to)
