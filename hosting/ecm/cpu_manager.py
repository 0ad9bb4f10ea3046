"""The eDragon CPU manager (ECM), which divides the platform's processors among the applications
(Guitart et al., 2008, section 3.1).
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from common import cpus as cpu_lists
from gateway.policies.processor_assignment import Share, Sharing, Wish, assign, place
from gateway.tls.processor_protocol import Assigned, ProtocolError, Register
from hosting import processes
from hosting.affinity import ProcessTree
from hosting.ecm.accounts import AccountFile, CpuMeter
from hosting.ecm.handover import steps
from hosting.processes import Listing

log = logging.getLogger(__name__)

NOTHING: tuple[Share, frozenset[int]] = (Share(0), frozenset())


@dataclass(eq=False, slots=True)
class Application:
    """An application, from its registration until its last process has ended.

    `requested` is the number of processors in its latest request or, before its first request, the
    number of all processors. `considered` is the number on which the present `share` is based.
    """

    name: str
    priority: float
    tree: ProcessTree
    meter: CpuMeter
    processors: frozenset[int]
    requested: int
    is_new: bool = True
    has_left: bool = False
    considered: int = 0
    share: Share = NOTHING[0]
    cpu_s: float = 0.0
    total_cpu_s: float = 0.0


class CpuManager:
    """The manager of the processors `cpus`; the caller must call `turn` once every `interval_s`
    real seconds.

    An application that has left or requests no processors gets no processors. Its threads may then
    run only on the platform's last CPU. Until its first request, an application counts as
    requesting all processors, as in the simulator.

    This manager replaces a manager that has died if `is_successor` is true, or if an application
    registers with an earlier assignment. In this case, it changes nothing during its first
    `settle_s` real seconds, so that all applications of the dead manager can register first.
    """

    def __init__(
        self,
        cpus: Sequence[int],
        *,
        sharing: Sharing = "both",
        interval_s: float,
        settle_s: float = 0.0,
        is_successor: bool = False,
        accounts: AccountFile | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cpus = tuple(sorted(cpus))
        self.sharing: Sharing = sharing
        self.interval_s = interval_s
        self._parking = frozenset(self.cpus[-1:])
        self._accounts = accounts
        self._clock = clock
        self._settled_s = clock() + settle_s
        self._is_successor = is_successor
        self._accounted_s = clock()
        self._interval_took_s = 0.0
        self._own_cpu_s = (time.process_time(), 0.0)
        self.applications: list[Application] = []
        self.turns = 0

    # ---- events of applications
    # --------------------------------------------------------------------

    def register(self, message: Register, peer: int) -> Application:
        """Register the application in `message`, which the process `peer` sent. Raises
        ProtocolError if the name is in use, or if the process that `message` names is unsuitable.
        """
        if any(one.name == message.application and not one.has_left for one in self.applications):
            raise ProtocolError(
                f"{message.application!r} is already registered", "application", "another name"
            )
        listing = Listing.now()
        root = listing.get(message.process)
        self._check_process(message.process, peer, listing)
        assert root is not None
        had = frozenset(message.processors or ()) & frozenset(self.cpus)
        self._is_successor |= message.processors is not None
        # An application that registers its remaining processes again.
        returning = [
            one for one in self.applications if one.has_left and _overlap(one.tree, root, listing)
        ]
        try:
            taken_over = cpu_lists.usable() if message.processors is not None else None
            tree = ProcessTree(root, listing, found=taken_over)
        except OSError as error:
            raise ProtocolError(
                f"{message.process} cannot be managed: {error.strerror}", "process", "a process"
            ) from None
        for one in returning:
            self.applications.remove(one)
            tree.inherit(one.tree)
        application = Application(
            message.application,
            message.priority,
            tree,
            CpuMeter(tree.members),
            had,
            requested=len(self.cpus),
        )
        self.applications.append(application)
        log.info("%s registered: process %d, priority %g", application.name, root.pid,
                 application.priority)  # fmt: skip
        return application

    def leave(self, application: Application) -> None:
        """Handle the end of a connection: the application has ended or needs no more processors."""
        application.has_left = True
        application.requested = 0
        log.info("%s left", application.name)

    def _check_process(self, pid: int, peer: int, listing: Listing) -> None:
        user = processes.owner(pid)
        if pid not in listing or user is None:
            raise ProtocolError(f"there is no process {pid}", "process", "a running process")
        if user != os.geteuid():
            raise ProtocolError(
                f"{pid} is of user {user}", "process", f"a process of user {os.geteuid()}"
            )
        if (
            pid != peer
            and pid not in listing.ancestors(peer)
            and peer not in listing.ancestors(pid)
        ):
            raise ProtocolError(
                f"{pid} is not related to the registering process {peer}",
                "process",
                "the registering process, one of its ancestors, or one of its descendants",
            )
        lineage = {pid, *listing.ancestors(pid)}
        if pid == 1 or pid in (os.getpid(), *listing.ancestors(os.getpid())):
            raise ProtocolError(
                f"the process tree of {pid} contains the CPU manager itself",
                "process",
                "a process tree of the application only",
            )
        for one in self.applications:
            if one.has_left:
                continue
            root = one.tree.root.pid
            if root in lineage or pid in (root, *listing.ancestors(root)):
                raise ProtocolError(
                    f"{pid} is in the same process tree as process {root} of {one.name}",
                    "process",
                    "a separate tree",
                )

    def request(self, application: Application, processors: int) -> None:
        """Receive `cpus_request`, a request for R_i processors."""
        application.requested = processors

    def assigned(self, application: Application) -> Assigned:
        """Return the answer to `cpus_assigned`: the processors A_i of the latest decision."""
        return Assigned(application.share.processors, tuple(sorted(application.processors)))

    # ---- once per interval -----------------------------------------------------------------------

    @property
    def is_settling(self) -> bool:
        """Whether the manager still waits for the applications of a dead manager."""
        return self._is_successor and self._clock() < self._settled_s

    def turn(self) -> bool:
        """Write the accounts of the ended interval, and carry out the decision for the next one.

        Returns False while the manager still waits for applications of a dead manager.
        """
        self.turns += 1
        listing = Listing.now()
        for one in self.applications:
            one.tree.look(listing)
        self._account()
        for one in self.applications:
            if not one.tree.is_alive and not one.has_left:
                self.leave(one)
        self.applications = [one for one in self.applications if one.tree.is_alive]
        if self.is_settling:
            return False
        # Sorted by name, so that the decision of a succeeding manager does not depend on the order
        # of arrival.
        present = sorted(
            (one for one in self.applications if not one.has_left), key=lambda one: one.name
        )
        wishes = [Wish(one.name, one.priority, one.requested) for one in present]
        shares = assign(wishes, len(self.cpus), self.sharing)
        before = {one.name: one.processors for one in present}
        placed = place(shares, self.cpus, before)
        self._put_into_force({one: (shares[one.name], placed[one.name]) for one in present})
        return True

    def _put_into_force(self, decided: Mapping[Application, tuple[Share, frozenset[int]]]) -> None:
        everywhere = frozenset(self.cpus)  # the possible CPUs of a tree that was never confined
        before = {one: everywhere if one.is_new else one.processors for one in self.applications}
        after = {one: decided.get(one, NOTHING)[1] for one in self.applications}
        for one, cpus in steps(before, after):
            one.tree.confine(cpus or self._parking)
        for one in self.applications:
            one.share, one.processors = decided.get(one, NOTHING)
            one.considered = one.requested
            one.is_new = False
            # also threads that have started in the meantime
            one.tree.confine(one.processors or self._parking)

    def _account(self) -> None:
        now_s = self._clock()
        self._interval_took_s, self._accounted_s = now_s - self._accounted_s, now_s
        own_s = time.process_time()
        self._own_cpu_s = (own_s, own_s - self._own_cpu_s[0])
        for one in self.applications:
            one.cpu_s = one.meter.used_s(one.tree.members)
            one.total_cpu_s += one.cpu_s
        if self._accounts is not None and self.applications:
            self._accounts.add(
                {
                    "time_s": round(time.time(), 3),
                    "interval_s": round(self._interval_took_s, 6),
                    "manager_cpu_s": round(self._own_cpu_s[1], 6),
                    "applications": [self._described(one) for one in self.applications],
                }
            )

    def hand_back(self) -> None:
        """Restore the original CPUs of all process trees, before the manager ends."""
        for one in self.applications:
            one.tree.hand_back()

    def status(self) -> dict[str, object]:
        """Return the manager's whole state, ready for JSON."""
        return {
            "cpus": list(self.cpus),
            "sharing": self.sharing,
            "interval_s": self.interval_s,
            "settling": self.is_settling,
            "last_interval_s": self._interval_took_s,
            "manager_cpu_s": self._own_cpu_s[1],
            "turns": self.turns,
            "applications": [
                {
                    **self._described(one),
                    "requested": one.requested,
                    "total_cpu_s": round(one.total_cpu_s, 2),
                }
                for one in self.applications
            ],
        }

    @staticmethod
    def _described(one: Application) -> dict[str, object]:
        return {
            "application": one.name,
            "process": one.tree.root.pid,
            "has_left": one.has_left,
            "priority": one.priority,
            "requested": one.considered,
            "assigned": one.share.processors,
            "processors": sorted(one.processors),
            "cpu_s": round(one.cpu_s, 2),
        }


def _overlap(tree: ProcessTree, root: processes.Process, listing: Listing) -> bool:
    own = listing.with_descendants({root.pid: root})
    return any(process.is_same(own.get(pid)) for pid, process in tree.members.items())
