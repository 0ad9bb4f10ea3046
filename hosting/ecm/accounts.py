"""The CPU manager's accounts: the processors that each application requested, got and used in each
interval ("complete accounting" in Guitart et al., 2008, section 3.1.1).
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from hosting.processes import TICKS_PER_S, Process

log = logging.getLogger(__name__)


class CpuMeter:
    """A meter of the CPU time that a process tree uses after the meter's creation.

    The CPU time of an ended child counts for the parent that waited for it. If no parent waits, the
    time since the latest measurement is lost.
    """

    def __init__(self, members: Mapping[int, Process]) -> None:
        self._before = dict(members)

    def used_s(self, members: Mapping[int, Process]) -> float:
        """Return the CPU seconds that the tree has used since the last call."""
        before, self._before = self._before, dict(members)
        ended = {
            pid: process for pid, process in before.items() if not process.is_same(members.get(pid))
        }
        # The counted CPU time of an ended child occurs again in the numbers of its parent or next
        # living ancestor.
        known: Counter[int] = Counter()
        for process in ended.values():
            heir, seen = process.parent, {process.pid}
            while heir in ended and heir not in seen:
                seen.add(heir)
                heir = ended[heir].parent
            known[heir] += process.own_ticks + process.ended_children_ticks
        ticks = 0
        for pid, process in members.items():
            earlier = before.get(pid)
            own, children = process.own_ticks, process.ended_children_ticks
            if earlier is not None and process.is_same(earlier):
                own -= earlier.own_ticks
                children -= earlier.ended_children_ticks
            ticks += max(0, own) + max(0, children - known[pid])
        return ticks / TICKS_PER_S


class AccountFile:
    """A file with a line of JSON for each interval.

    A single write appends each line, so that lines are complete even if the writing process dies.
    After a crash of the machine or on a full disk, a line may be incomplete; `read` skips it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_torn = False
        self._is_failing = False
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        length = os.fstat(self._descriptor).st_size
        if length:
            self._is_torn = os.pread(self._descriptor, 1, length - 1) != b"\n"

    def add(self, entry: Mapping[str, object]) -> None:
        """Append a line. If this fails, the line is lost; repeated failures are logged once."""
        line = json.dumps(entry, allow_nan=False).encode() + b"\n"
        if self._is_torn:
            line = b"\n" + line
        try:
            written = os.write(self._descriptor, line)
        except OSError as error:
            if not self._is_failing:
                log.error("cannot write accounts to %s: %s", self._path, error.strerror)
            self._is_failing = True
            return
        self._is_torn = written < len(line)
        self._is_failing = False

    def close(self) -> None:
        os.close(self._descriptor)


def read(path: Path) -> Iterator[dict[str, object]]:
    """Iterate over the entries of a file of accounts, without incomplete lines.

    Raises OSError if the file cannot be read.
    """
    with path.open("rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry
