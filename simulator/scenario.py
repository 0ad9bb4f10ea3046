"""The description of a simulation: customers, a policy, a server."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from common.page_types import BUSY_RATIO, SLICES, SPREAD_RATIO
from gateway.policies import Abandonment
from gateway.policies.interface import Policy
from loadgen import defaults
from loadgen.workload.clients import KIND_PAGE, Clients
from loadgen.workload.sessions import MEAN_EXECUTION_S, PAGES, Customers, SessionModel

FILE = KIND_PAGE["file"]
SERVED_PAGES = (*PAGES, FILE)
"""The kinds of pages that a server serves: the entries of PAGES in their order, then files."""

FILE_PLACE = len(PAGES)

SessionKnown = Literal["admission", "answer"]
RejectionPlace = Literal["ahead", "free"]
ExecutionTimes = Literal["uniform", "exponential"]
ServiceTimes = Literal["files", "exponential"]


class ScenarioError(ValueError):
    """The error for an invalid scenario; `field` names the value."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def require_one_of(field: str, value: str, literal: Any) -> None:
    known: tuple[str, ...] = get_args(literal)
    if value not in known:
        raise ScenarioError(field, f"{value!r} is unknown; give {' or '.join(known)}")


def require(described: object, names: str, is_valid: Callable[[float], bool], allowed: str) -> None:
    """Raise ScenarioError for the first of these attributes that is neither None nor valid."""
    for name in names.split():
        value = getattr(described, name)
        if value is not None and not is_valid(value):
            raise ScenarioError(name, f"{value}: give {allowed}")


def is_above_0(value: float) -> bool:
    return value > 0 and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class SharedCpus:
    """LIFO-Pri's server, in which up to `workers` requests share `cpus` CPUs and wait for their
    back end in parallel.

    An execution time is uniform within ± `spread_ratio` of the mean of its page type, or
    exponential. The share `busy_ratio` of this time is CPU time (processor sharing, each request on
    at most one CPU); the rest is a wait. The time is divided into `slices` pairs of a busy and a
    waiting period, as in the shop's page work. `mean_execution_s` has the eight pages and, for
    clients that request files, `file`. A file uses its share of the CPUs, but no worker.
    """

    workers: int = defaults.LIFO_PRI_WORKERS
    cpus: int = defaults.LIFO_PRI_CPUS
    mean_execution_s: Mapping[str, float] = field(default_factory=lambda: MEAN_EXECUTION_S)
    busy_ratio: float = BUSY_RATIO
    spread_ratio: float = SPREAD_RATIO
    slices: int = SLICES
    execution_times: ExecutionTimes = "uniform"

    def __post_init__(self) -> None:
        require(self, "workers cpus slices", lambda value: value >= 1, "1 or more")
        require(self, "busy_ratio", lambda value: 0 < value <= 1, "more than 0, at most 1")
        require(self, "spread_ratio", lambda value: 0 <= value <= 1, "0 to 1")
        for page, mean_s in {**dict.fromkeys(PAGES, 0.0), **self.mean_execution_s}.items():
            if page in SERVED_PAGES and not mean_s > 0:
                raise ScenarioError("mean_execution_s", f"give {page} a number above 0")
        require_one_of("execution_times", self.execution_times, ExecutionTimes)


class FileClass(NamedTuple):
    """One class of files: nine sizes evenly spaced from `smallest_bytes` to `largest_bytes`."""

    share: float
    smallest_bytes: float
    largest_bytes: float


SPECWEB96 = (
    FileClass(0.35, 100, 900),
    FileClass(0.50, 1000, 9000),
    FileClass(0.14, 10_000, 90_000),
    FileClass(0.01, 100_000, 900_000),
)
"""The classes of files in SBAC, section 4."""

SHARES_TOLERANCE = 1e-9

_ENDLESS = "the simulation would never end"


@dataclass(frozen=True, slots=True)
class FifoServer:
    """SBAC's server, which serves one request at a time in a time proportional to the file's size.

    With exponential `service_times`, this is the server of the M/M/1 queue. It serves
    `capacity_rps` requests of mean size per second, and the queueing policy acts as the listen
    queue. With the `rejection` `ahead`, each rejection costs `rejection_cost` mean service times,
    which the server spends before it serves the queue. With `free`, a rejection costs nothing,
    because a gateway answers.
    """

    capacity_rps: float = defaults.SBAC_CAPACITY_RPS
    file_classes: tuple[FileClass, ...] = SPECWEB96
    service_times: ServiceTimes = "files"
    rejection: RejectionPlace = defaults.SBAC_REJECTION
    rejection_cost: float = defaults.SBAC_REJECTION_COST

    def __post_init__(self) -> None:
        require(self, "capacity_rps", is_above_0, "a number above 0")
        require_one_of("service_times", self.service_times, ServiceTimes)
        require_one_of("rejection", self.rejection, RejectionPlace)
        if abs(math.fsum(each.share for each in self.file_classes) - 1) > SHARES_TOLERANCE:
            raise ScenarioError("file_classes", "the shares must add up to 1")
        if any(not 0 < each.smallest_bytes <= each.largest_bytes for each in self.file_classes):
            raise ScenarioError("file_classes", "give sizes above 0, with the smallest first")
        require(self, "rejection_cost", lambda value: value >= 0, "0 or more")


def server_capacity_rps(customers: SessionModel, server: SharedCpus | FifoServer) -> float:
    """Return the capacity of a simulated server for the customers' mix of pages. It is cpus /
    (busy_ratio × mean execution time), but at most what the workers could serve with unlimited
    CPUs. For a FIFO server, return `capacity_rps`.
    """
    if isinstance(server, FifoServer):
        return server.capacity_rps
    mean_s = customers.mean_execution_s(server.mean_execution_s)
    return min(server.cpus / (server.busy_ratio * mean_s), server.workers / mean_s)


@dataclass(frozen=True, slots=True)
class Scenario:
    """The description of a simulation, which starts with an empty system.

    `sessions` (a number of sessions), `arrivals_until_s` or the customers' schedule ends the
    arrivals. The description must have at least one of these or `stop_s`. The simulation ends with
    the last request, or is cut off at `stop_s`; requests in progress then count as neither
    completed nor lost.

    With `Clients` as `customers`, the simulation is a closed loop (Connection Sentry). All clients
    are present from the start. No client begins a request at or after `arrivals_until_s`, but
    requests in progress continue as long as their clients' patience lasts. Each
    session has the number of its client. The fate of the session stays `UNFINISHED`, and its `kind`
    is 0 in the control set and 1 in the test set. An example:

        Scenario(
            Clients(ClientModel(per_set=9, patience_max_s=7.5), seed),
            registry.create("sq", {}),
            SharedCpus(mean_execution_s={**MEAN_EXECUTION_S, "file": 0.02}),
            seed,
            arrivals_until_s=1800,
            abandonment="cancel",
        )

    Files bypass the policy. Only `SharedCpus` serves files, and it needs a mean
    execution time for `file`. Raises `ScenarioError` if a value is invalid, and
    `SessionModelError` if a client would request too many pages.

    `abandonment` sets what happens to the requests of a customer who leaves. `ignore` executes
    orphan requests in full, `drop-queued` removes waiting orphan requests, and `cancel` also stops
    orphan requests in service at once.

    `session_known_from` sets when a session counts as in progress. With `admission`, a session is
    in progress once it was admitted, as in SBAC's simulation. With `answer`, it is in progress once
    an answer with the gateway's cookie has arrived. Any attempt before that time counts as a
    separate session.
    """

    customers: Customers | Clients
    policy: Policy
    server: SharedCpus | FifoServer
    seed: int
    sessions: int | None = None
    arrivals_until_s: float | None = None
    stop_s: float | None = None
    utilisation_interval_s: float = 1.0
    abandonment: Abandonment = "ignore"
    session_known_from: SessionKnown = "answer"

    def __post_init__(self) -> None:
        if not self.utilisation_interval_s > 0:
            raise ScenarioError("utilisation_interval_s", "give a number above 0")
        ends = ("sessions", "arrivals_until_s", "stop_s")
        require(self, " ".join(ends), lambda value: value > 0, "a number above 0")
        if isinstance(self.customers, Clients):
            self._check_clients(self.customers)
        elif self.customers.schedule is None and all(getattr(self, name) is None for name in ends):
            raise ScenarioError("sessions", f"{_ENDLESS}; give one of {', '.join(ends)}")
        require_one_of("abandonment", self.abandonment, Abandonment)
        require_one_of("session_known_from", self.session_known_from, SessionKnown)

    def _check_clients(self, clients: Clients) -> None:
        if self.sessions is not None:
            raise ScenarioError(
                "sessions", "clients in a closed loop do not arrive; omit this value"
            )
        ends_s = [end_s for end_s in (self.arrivals_until_s, self.stop_s) if end_s is not None]
        if not ends_s:
            raise ScenarioError("arrivals_until_s", f"{_ENDLESS}; give arrivals_until_s or stop_s")
        clients.model.require_duration(min(ends_s))
        if clients.model.mix.get(FILE, 0) > 0:
            if not isinstance(self.server, SharedCpus):
                raise ScenarioError(
                    "server", "only SharedCpus serves files; give a mix without file"
                )
            if FILE not in self.server.mean_execution_s:
                raise ScenarioError("mean_execution_s", f"give {FILE} a number above 0")
