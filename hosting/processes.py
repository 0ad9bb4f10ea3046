"""Processes as /proc shows them at one moment: parents, start times, CPU used, threads.

One read of a process gives parent, identity and CPU, so that tree and account agree.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

TICKS_PER_S: int = os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError)
"""What reading /proc raises when the process has ended meanwhile."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. `started_ticks` tells it from a later one with the same `pid`.

    `own_ticks` is CPU of its threads, `ended_children_ticks` that of children it has waited for,
    with theirs; both user and system, cumulative. One that `has_ended` is a zombie: nobody has
    waited for it yet.
    """

    pid: int
    started_ticks: int
    parent: int
    own_ticks: int
    ended_children_ticks: int
    has_ended: bool = False

    def is_same(self, other: "Process | None") -> bool:
        """True if `other` is this process, at another moment."""
        return other is not None and (self.pid, self.started_ticks) == (
            other.pid,
            other.started_ticks,
        )


def read(pid: int) -> Process | None:
    """The process now; None if there is none."""
    try:
        # Not open(): twice as fast, and this is read for every process in every interval.
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    except _GONE:
        return None
    # The name, in parentheses, may have any character; what follows begins with the third field.
    fields = content[content.rindex(b")") + 2 :].split()
    user, system, children_user, children_system = map(int, fields[11:15])
    return Process(
        pid,
        started_ticks=int(fields[19]),
        parent=int(fields[1]),
        own_ticks=user + system,
        ended_children_ticks=children_user + children_system,
        has_ended=fields[0] in (b"Z", b"X"),
    )


def owner(pid: int) -> int | None:
    """The user (real uid) that runs the process; None if there is none."""
    with suppress(*_GONE), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"Uid:"):
                return int(line.split()[1])
    return None


def threads(pid: int) -> list[int]:
    """The ids of the process's threads; empty when it has ended."""
    with suppress(*_GONE):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    return []


def has_thread(pid: int, thread: int) -> bool:
    """True if the thread is one of the process's."""
    return os.path.exists(f"/proc/{pid}/task/{thread}")


def tree_cpu_s(pid: int) -> float | None:
    """CPU seconds of the process and of all that descend from it; None if there is none."""
    root = read(pid)
    if root is None:
        return None
    tree = Listing.now().with_descendants({root.pid: root}).values()
    return sum(one.own_ticks + one.ended_children_ticks for one in tree) / TICKS_PER_S


class Listing(Mapping[int, Process]):
    """All processes of the machine, by pid."""

    def __init__(self, processes: Mapping[int, Process]) -> None:
        self._processes = processes
        self._children: dict[int, list[Process]] = defaultdict(list)
        for process in processes.values():
            self._children[process.parent].append(process)

    @classmethod
    def now(cls) -> Self:
        """What there is at the moment; who begins or ends meanwhile may be in it or not."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return cls({pid: process for pid in pids if (process := read(pid)) is not None})

    def __getitem__(self, pid: int) -> Process:
        return self._processes[pid]

    def __iter__(self) -> Iterator[int]:
        return iter(self._processes)

    def __len__(self) -> int:
        return len(self._processes)

    def with_descendants(self, roots: Mapping[int, Process]) -> dict[int, Process]:
        """Those of `roots` that still are, as they are now, and all that descend from them."""
        found: dict[int, Process] = {}
        waiting = [self[pid] for pid, root in roots.items() if root.is_same(self.get(pid))]
        while waiting:
            process = waiting.pop()
            if process.pid not in found:
                found[process.pid] = process
                waiting += self._children.get(process.pid, ())
        return found

    def ancestors(self, pid: int) -> list[int]:
        """The process's parent, its parent's, …"""
        found: list[int] = []
        process = self.get(pid)
        while process is not None and process.parent and process.parent not in found:
            found.append(process.parent)
            process = self.get(process.parent)
        return found
