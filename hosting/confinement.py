"""The move of the appliance's processes, except its shop, to CPUs that a platform does not use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hosting.processes import threads
from runtime.native.supervision import left_over
from runtime.settings import Settings
from runtime.state import State


@contextmanager
def confined(lab: Settings, to: tuple[int, ...]) -> Iterator[None]:
    """During the block, let this thread and the appliance's processes, except the shop, run on the
    CPUs `to`.
    """
    own = os.sched_getaffinity(0)
    bind(lab, to)
    os.sched_setaffinity(0, to)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)
        bind(lab, lab.other_cpus)


def bind(lab: Settings, to: tuple[int, ...]) -> None:
    """Move the appliance's threads, except those on the shop's CPUs, to the CPUs `to`."""
    if lab.shop_cpus == lab.other_cpus:
        return  # on a machine with one CPU, nothing separates the two
    others = set(lab.other_cpus)
    for process in left_over(State(lab.state_dir)):
        for thread in threads(process.pid):
            with suppress(OSError):  # it has ended, or belongs to another user
                if os.sched_getaffinity(thread) <= others:
                    os.sched_setaffinity(thread, to)
