"""The processes in /proc at one moment: their parents, start times, CPU time and threads."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

TICKS_PER_S: int = os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError)
"""The errors of reading /proc for a process that has just ended."""


@dataclass(frozen=True, slots=True)
class Process:
    """The state of a process; `started_ticks` distinguishes it from a later process with the same
    `pid`.

    `own_ticks` is the CPU time of the process's threads. `ended_children_ticks` is the CPU time of
    its ended descendants, if their parents waited for them. Both include user and system time since
    the process's start. If `has_ended` is true, the process is a zombie: its parent has not waited
    for it yet.
    """

    pid: int
    started_ticks: int
    parent: int
    own_ticks: int
    ended_children_ticks: int
    has_ended: bool = False

    def is_same(self, other: "Process | None") -> bool:
        """Return whether `other` is the same process at another moment."""
        return other is not None and (self.pid, self.started_ticks) == (
            other.pid,
            other.started_ticks,
        )


def read(pid: int) -> Process | None:
    """Return the present state of the process; None if it no longer exists."""
    try:
        # open() takes twice as long, which matters because every process is read in every interval.
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    except _GONE:
        return None
    # The name, in parentheses, may contain any character; the rest begins with the third field.
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
    """Return the user (real uid) that runs the process; None if it no longer exists."""
    with suppress(*_GONE), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"Uid:"):
                return int(line.split()[1])
    return None


def threads(pid: int) -> list[int]:
    """Return the ids of the process's threads; an empty list if it no longer exists."""
    with suppress(*_GONE):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    return []


def has_thread(pid: int, thread: int) -> bool:
    return os.path.exists(f"/proc/{pid}/task/{thread}")


def tree_cpu_s(pid: int) -> float | None:
    """Return the CPU seconds of the process and its descendants; None if it no longer exists."""
    root = read(pid)
    if root is None:
        return None
    tree = Listing.now().with_descendants({root.pid: root}).values()
    return sum(one.own_ticks + one.ended_children_ticks for one in tree) / TICKS_PER_S


class Listing(Mapping[int, Process]):
    def __init__(self, processes: Mapping[int, Process]) -> None:
        self._processes = processes
        self._children: dict[int, list[Process]] = defaultdict(list)
        for process in processes.values():
            self._children[process.parent].append(process)

    @classmethod
    def now(cls) -> Self:
        """Return the processes, perhaps without those that start or end during the call."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return cls({pid: process for pid in pids if (process := read(pid)) is not None})

    def __getitem__(self, pid: int) -> Process:
        return self._processes[pid]

    def __iter__(self) -> Iterator[int]:
        return iter(self._processes)

    def __len__(self) -> int:
        return len(self._processes)

    def with_descendants(self, roots: Mapping[int, Process]) -> dict[int, Process]:
        """Return the present state of the existing `roots` and their descendants."""
        found: dict[int, Process] = {}
        waiting = [self[pid] for pid, root in roots.items() if root.is_same(self.get(pid))]
        while waiting:
            process = waiting.pop()
            if process.pid not in found:
                found[process.pid] = process
                waiting += self._children.get(process.pid, ())
        return found

    def ancestors(self, pid: int) -> list[int]:
        """Return the process's ancestors: its parent, its parent's parent and so on."""
        found: list[int] = []
        process = self.get(pid)
        while process is not None and process.parent and process.parent not in found:
            found.append(process.parent)
            process = self.get(process.parent)
        return found
