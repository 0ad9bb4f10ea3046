"""The CPUs on which the threads of a process tree may run (Guitart et al., 2008, section 3.1.2:
sched_setaffinity).

Threads and processes can start and end while the tree is bound to CPUs. The tree is therefore read
again, at most MOST_PASSES times, until every thread runs on the right CPUs.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from common import cpus as cpu_lists
from hosting.processes import Listing, Process, has_thread, read, threads

log = logging.getLogger(__name__)

MOST_PASSES = 50
"""The maximum number of passes each time a process tree is bound. Passes repeat until a pass
changes nothing. Without the maximum, they might repeat for ever, if the tree starts threads faster
than they can be bound.
"""


class AffinityError(RuntimeError):
    """The error if processes cannot be bound to the wanted CPUs; the message names the cause."""


def check(cpus: Sequence[int]) -> None:
    """Bind this process to each of `cpus` in turn, as a test, and restore its CPUs.

    Raises AffinityError if this fails, /proc is not mounted, or the system is not Linux.
    """
    if sys.platform != "linux" or not hasattr(os, "sched_setaffinity"):
        raise AffinityError(f"CPU affinity needs Linux (sched_setaffinity); this is {sys.platform}")
    if not os.path.exists("/proc/self/stat"):
        raise AffinityError(
            "/proc is not mounted, so process trees and their CPU time cannot be read"
        )
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, before)
    except OSError as error:
        raise AffinityError(
            f"sched_setaffinity is not allowed here ({error.strerror}); fix: allow it in the "
            f"seccomp filter or the container's security profile"
        ) from None
    try:
        missing = {cpu for cpu in cpus if not _may_use(cpu)}
        usable = {cpu for cpu in range(os.cpu_count() or 1) if _may_use(cpu)} if missing else set()
    finally:
        os.sched_setaffinity(0, before)
    if missing:
        raise AffinityError(
            f"this process may not use CPU {cpu_lists.written(missing)} (not there, or not in its "
            f"cpuset); allowed: {cpu_lists.written(usable)}"
        )


def _may_use(cpu: int) -> bool:
    try:
        os.sched_setaffinity(0, {cpu})
    except (OSError, OverflowError):
        return False
    return True


class ProcessTree:
    """A process, all its descendants, and their threads.

    A process that was found once stays in the tree, even if its parent ends. A process whose parent
    ends before the process is found keeps its CPUs.
    """

    def __init__(
        self, root: Process, listing: Listing, found: frozenset[int] | None = None
    ) -> None:
        """Read the tree of `root`.

        If an earlier manager set the root's CPUs, `found` contains the CPUs to restore at the end.
        Without `found`, raise OSError if the root's CPUs cannot be read.
        """
        self.root = root
        self.members: dict[int, Process] = {root.pid: root}
        self._root_found = found or frozenset(os.sched_getaffinity(root.pid))
        self._found: dict[int, tuple[Process, frozenset[int]]] = {}
        self._complained: set[int] = set()
        self.look(listing)
        for process in self.members.values() if found is None else ():
            with suppress(OSError):
                cpus = frozenset(os.sched_getaffinity(process.pid))
                self._found[process.pid] = (process, cpus)

    def look(self, listing: Listing) -> None:
        self.members = listing.with_descendants(self.members)

    @property
    def is_alive(self) -> bool:
        return not all(process.has_ended for process in self.members.values())

    def inherit(self, former: "ProcessTree") -> None:
        """Take over the processes and the original CPUs of `former`, a tree that has processes in
        common with this tree.
        """
        self.members = {**former.members, **self.members}
        self._found = {**self._found, **former._found}
        self._root_found = former._root_found

    def confine(self, cpus: frozenset[int]) -> int:
        """Let all threads run only on `cpus`; return the number of threads whose CPUs changed."""
        return self._bind(lambda process: cpus)

    def hand_back(self) -> None:
        """Restore the original CPUs of every process.

        A process that started after the tree was created gets the root's original CPUs.
        """

        def found(process: Process) -> frozenset[int]:
            then, cpus = self._found.get(process.pid, (None, self._root_found))
            return cpus if process.is_same(then) else self._root_found

        self.look(Listing.now())
        self._bind(found)

    def _bind(self, cpus_for: Callable[[Process], frozenset[int]]) -> int:
        changed = 0
        for _ in range(MOST_PASSES):
            by_this_pass = 0
            for process in self.members.values():
                try:
                    by_this_pass += _bind(process, cpus_for(process))
                except OSError as error:  # another user's process, or the cpuset has shrunk
                    self._complain(process, error)
            if not by_this_pass:
                return changed
            changed += by_this_pass
            self.look(Listing.now())
        log.warning(
            "the tree of process %d starts threads faster than they can be bound", self.root.pid
        )
        return changed

    def _complain(self, process: Process, error: OSError) -> None:
        if process.pid not in self._complained:
            self._complained.add(process.pid)
            log.warning("process %d cannot be bound to CPUs: %s", process.pid, error.strerror)


def _bind(process: Process, cpus: frozenset[int]) -> int:
    changed = 0
    for thread in threads(process.pid):
        try:
            before = os.sched_getaffinity(thread)
            if before == cpus:
                continue
            if not changed and not process.is_same(read(process.pid)):
                return 0  # it has ended, and another process has its id
            os.sched_setaffinity(thread, cpus)
        except ProcessLookupError:  # it has ended
            continue
        if has_thread(process.pid, thread):
            with suppress(ProcessLookupError):
                # A separate cpuset may have prevented the change.
                changed += os.sched_getaffinity(thread) != before
        else:
            # It has ended, and another process may have its id.
            with suppress(OSError):
                os.sched_setaffinity(thread, before)
    return changed
