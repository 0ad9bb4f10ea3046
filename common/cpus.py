"""The division of the machine's CPUs between the shop and everything else, and processes' CPU time.

If the machine has several CPUs, by default no other process of the appliance uses the shop's CPUs.
The utilisation of these CPUs then means the same as "server CPU" in the papers.
"""

import os
import sys
import time
from typing import Final

_CPU_CLOCK: Final = 2  # with a process id, the number of its CPU clock (linux/posix-timers.h)


def usable() -> frozenset[int]:
    """Return the CPUs that processes of this machine may use: the CPUs that this process may use,
    and those that process 1 may use.
    """
    if sys.platform == "linux":
        return here() | os.sched_getaffinity(1)
    return here()


def here() -> frozenset[int]:
    """Return the CPUs that this process may use; all CPUs if the system does not report this."""
    if sys.platform == "linux":
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def for_shop() -> tuple[int, ...]:
    """Return the shop's default CPUs: only the last CPU."""
    return (max(here()),)


def for_others(shop_cpus: tuple[int, ...]) -> tuple[int, ...]:
    """Return the default CPUs of other processes: all CPUs except the shop's. If no other CPU
    exists, return the shop's.
    """
    left = here() - set(shop_cpus)
    return tuple(sorted(left)) or shop_cpus


def parse(text: str, among: frozenset[int] | None = None) -> tuple[int, ...]:
    """Read a CPU list such as `1`, `2-3` or `0,2-3`.

    Raises `ValueError` if the text is not a CPU list, or names CPUs outside `among`.
    """
    chosen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise ValueError("not a CPU list; allowed: forms such as 1 or 2-3 or 0,2-3")
        chosen.update(range(int(first), int(last if dash else first) + 1))
    if not chosen:
        raise ValueError("an empty CPU range; allowed: forms such as 1 or 2-3 or 0,2-3")
    if among is not None and (missing := chosen - among):
        raise ValueError(f"this machine has no CPU {written(missing)}; allowed: {written(among)}")
    return tuple(sorted(chosen))


def written(numbers: set[int] | frozenset[int] | tuple[int, ...]) -> str:
    """Return a CPU list as text, e.g. `0,2,4-6`; ranges have three or more CPUs."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs
    )


def _is_number(text: str) -> bool:
    # Four digits are sufficient for Linux, and limit the size of a range.
    return text.isascii() and text.isdigit() and len(text) <= 4


def cpu_s(process: int) -> float:
    """Return the CPU time of all threads of a process so far. Raises OSError if there is no such
    process on this machine, or if the system does not measure this.
    """
    return time.clock_gettime((~process << 3) | _CPU_CLOCK)
