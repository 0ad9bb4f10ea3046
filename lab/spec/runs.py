"""The description of one run for the engines: the server, its customers and its load.

A run is a `ShopRun` (a shop behind a policy, on the appliance or in the simulator), a `PlatformRun`
(eDragon's hosting platform) or an `AdServerRun`. A run has no seed, because its repetitions differ
only in their seeds. Durations are paper seconds.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from gateway.policies import Abandonment
from gateway.policies.connection_admission import PlatformAdmission
from gateway.policies.interface import PAGES
from gateway.policies.processor_assignment import Provisioning, Sharing
from lab.spec.experiment import Spec
from lab.spec.sections import FifoServerSection, PolicyChoice, SharedCpusServer
from loadgen.workload.clients import KIND_PAGE, ClientModel
from loadgen.workload.load_schedule import Segment
from loadgen.workload.sessions import MEAN_EXECUTION_S, Schedule, SessionModel
from simulator.scenario import FifoServer, FileClass, SessionKnown, SharedCpus, server_capacity_rps

CPU_PAGE_S = 0.30
"""The mean CPU time of a page in the CPU-intensive profile, in paper seconds (LIFO-Pri, section
3.1).
"""

FILE_CPU_S = 0.03
"""The CPU time of a book's cover, in paper seconds: 3 ms of the shop's CPU at time scale 10."""


def identity(plain: Mapping[str, Any]) -> str:
    """Return sixteen hexadecimal digits that identify these JSON values; they are the same on every
    machine.
    """
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Run:
    kind: ClassVar[str]

    def as_json(self) -> dict[str, Any]:
        """Return all values in a form that JSON can represent; `run_of` reads it."""
        return {"kind": self.kind, **asdict(self)}

    def with_(self, **changes: Any) -> Self:
        return replace(self, **changes)

    @cached_property
    def id(self) -> str:
        """A text that identifies the run; it is the same on every machine."""
        return identity(self.as_json())


def _values(one: Any) -> dict[str, Any]:
    values = {entry.name: getattr(one, entry.name) for entry in fields(one)}
    return {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()
    }


# ---- a shop --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ApplianceServer:
    """The shop of the running appliance, with the settings that it has during a run."""

    page_profile: Literal["paper", "real", "cpu"] = "paper"
    catalogue_books: int | None = None
    """The number of books in the catalogue; None means the number in the appliance's settings."""
    database_cpus: Literal["other", "shop"] = "other"
    time_scale: float = 10.0
    """Paper seconds per real second."""
    shadows: tuple[str, ...] = ()
    """The policies that observe the run without making decisions."""


_SERVERS: dict[str, type] = {
    "shared-cpus": SharedCpus,
    "fifo": FifoServer,
    "appliance": ApplianceServer,
}
_KINDS = {server: kind for kind, server in _SERVERS.items()}


@dataclass(frozen=True)
class ShopRun(_Run):
    """A run of a shop behind a policy.

    Sessions arrive at the load `rho`, or at the loads of `schedule`. Arrivals end after `sessions`
    sessions, after `duration_s`, or at the end of the schedule. The sessions in progress then
    finish, unless `stop_s` ends the run. If `customers` is a `ClientModel`, the run is a closed
    loop without ρ, in which the clients send requests for `duration_s`.
    """

    kind: ClassVar[str] = "shop"

    policy: PolicyChoice
    server: SharedCpus | FifoServer | ApplianceServer
    customers: SessionModel | ClientModel = field(default_factory=SessionModel)
    capacity_rps: float | None = None
    """The capacity, in requests per paper second at ρ = 1; None in a closed loop, and until it is
    measured.
    """
    rho: float | None = 1.0
    """The offered load; None in a closed loop. The schedule of arrivals by a formula or from a
    trace already contains this load.
    """
    schedule: Schedule | None = None
    sessions: int | None = None
    duration_s: float | None = None
    stop_s: float | None = None
    abandonment: Abandonment = "ignore"
    slower_ratio: float = 1.0
    """The factor by which pages take longer on the simulated server than capacity and ρ assume."""
    session_known_from: SessionKnown = "answer"
    utilisation_interval_s: float = 1.0
    warm_up_s: float = 0.0
    """The length of the warm-up, in paper seconds. Sessions that arrive during the warm-up do not
    count; in a closed loop, requests that begin during the warm-up do not count.
    """

    @property
    def is_closed_loop(self) -> bool:
        """Whether a fixed set of clients sends the requests (Connection Sentry)."""
        return isinstance(self.customers, ClientModel)

    @property
    def session_model(self) -> SessionModel:
        """The customers, for a run that is not a closed loop."""
        assert isinstance(self.customers, SessionModel)
        return self.customers

    @property
    def client_model(self) -> ClientModel:
        """The clients, for a run that is a closed loop."""
        assert isinstance(self.customers, ClientModel)
        return self.customers

    @property
    def server_kind(self) -> str:
        """The kind of the server: `shared-cpus`, `fifo` or `appliance`."""
        return _KINDS[type(self.server)]

    @property
    def arrivals_s(self) -> float | None:
        """The time during which sessions arrive, paper seconds; None if a number of sessions ends
        the arrivals.
        """
        return self.schedule.duration_s if self.schedule else self.duration_s

    @property
    def mean_length(self) -> float:
        """The mean number of requests per session, before the lengths are rounded."""
        lengths = self.session_model.lengths
        if lengths is None:
            return self.session_model.mean_requests()
        return sum(part.share * part.mean for part in lengths.classes())

    @property
    def offered_rho(self) -> float | None:
        """The mean offered load of the run."""
        if self.schedule is None:
            return self.rho
        return self.schedule.expected_sessions(1.0) / self.schedule.duration_s

    @property
    def session_rate(self) -> float:
        """The rate of sessions per paper second, at ρ or, with a schedule, at ρ = 1."""
        assert self.capacity_rps is not None
        rho = 1.0 if self.schedule else self.rho
        assert rho is not None
        return self.session_model.session_rate(rho, self.capacity_rps)

    def expected_requests(self) -> float:
        """Return the approximate number of simulated requests: the requests that the server can
        answer at its capacity, plus one for each rejected session.
        """
        capacity_rps = self.capacity_rps or 1.0
        if self.is_closed_loop:
            model = self.client_model
            offered_rps = 2 * model.per_set / model.think_time_mean_s
            return (self.duration_s or 0.0) * min(capacity_rps, offered_rps)
        mean = self.mean_length
        parts: list[tuple[float, float]] = [(self.duration_s or 0.0, self.rho or 1.0)]
        if self.schedule:
            parts = [(part.duration_s, part.rho) for part in self.schedule.segments]
        if self.sessions is not None:
            rho = self.rho or 1.0
            parts = [(self.sessions * mean / (rho * capacity_rps), rho)]
        return sum(
            duration_s * capacity_rps * (min(rho, 1.0) + max(0.0, rho - 1.0) / mean)
            for duration_s, rho in parts
        )

    def shortened(self, factor: float) -> "ShopRun":
        """Return a copy of the run with a shorter duration."""
        return self.with_(
            duration_s=self.duration_s and self.duration_s * factor,
            sessions=self.sessions and max(1, round(self.sessions * factor)),
            schedule=self.schedule
            and Schedule(tuple(Segment(s * factor, rho) for s, rho in self.schedule.segments)),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            **_values(self),
            "kind": self.kind,
            "policy": self.policy.model_dump(mode="json", exclude_none=True),
            "server": {"kind": self.server_kind, **_values(self.server)},
            "customers": {
                "kind": "clients" if self.is_closed_loop else "sessions",
                **self.customers.parameters(),
            },
            "schedule": self.schedule and [list(part) for part in self.schedule.segments],
        }

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> "ShopRun":
        """Return the run that `as_json` wrote."""
        given = dict(plain)
        server = dict(given["server"])
        kind = server.pop("kind")
        if "file_classes" in server:
            server["file_classes"] = tuple(FileClass(*part) for part in server["file_classes"])
        if "shadows" in server:
            server["shadows"] = tuple(server["shadows"])
        customers = dict(given["customers"])
        model = ClientModel if customers.pop("kind") == "clients" else SessionModel
        return cls(
            **{
                **given,
                "policy": PolicyChoice.model_validate(given["policy"]),
                "server": _SERVERS[kind](**server),
                "customers": model.of_parameters(customers),
                "schedule": given["schedule"]
                and Schedule(tuple(Segment(*part) for part in given["schedule"])),
            }
        )

    @classmethod
    def of_spec(
        cls, spec: Spec, policy: str, rho: float | None, capacity_rps: float | None = None
    ) -> "ShopRun":
        """Return the run of a policy of `spec` at one of the spec's loads.

        The default of `capacity_rps`, the requests per paper second at ρ = 1, is the capacity of
        the simulated server.
        """
        choice = spec.choice(policy)
        section = spec.server or SharedCpusServer()
        run = cls(
            policy=choice,
            server=_appliance(spec) if spec.engine == "live" else server_of(spec),
            customers=spec.clients.as_model() if spec.clients else spec.customers.as_model(),
            rho=rho,
            schedule=spec.load.schedule_at(rho),
            sessions=spec.load.sessions,
            duration_s=None if spec.load.arrivals else spec.load.duration_s,
            abandonment=spec.abandonment_of(choice),
            slower_ratio=getattr(section, "execution_factor", 1.0),
            session_known_from=section.session_known_from,
            utilisation_interval_s=spec.utilisation_interval_s,
            warm_up_s=spec.warm_up_s,
        )
        if not isinstance(run.server, ApplianceServer) and not run.is_closed_loop:
            capacity_rps = capacity_rps or server_capacity_rps(run.session_model, run.server)
        return run.with_(capacity_rps=capacity_rps)


def _appliance(spec: Spec) -> ApplianceServer:
    return ApplianceServer(
        spec.page_profile, spec.catalogue_books, spec.database_cpus, spec.time_scale, spec.shadows
    )


def server_of(spec: Spec) -> SharedCpus | FifoServer:
    """Return the spec's simulated server (default: LIFO-Pri's) without its execution factor."""
    section = spec.server or SharedCpusServer()
    if isinstance(section, FifoServerSection):
        return FifoServer(
            capacity_rps=section.capacity_rps,
            rejection=section.rejection,
            rejection_cost=section.rejection_cost,
        )
    busy_ratio = 1.0 if spec.page_profile == "cpu" else SharedCpus().busy_ratio
    files = {KIND_PAGE["file"]: FILE_CPU_S / busy_ratio} if spec.clients else {}
    if spec.page_profile == "cpu":
        return SharedCpus(
            workers=section.workers,
            cpus=section.cpus,
            mean_execution_s={**dict.fromkeys(PAGES, CPU_PAGE_S), **files},
            busy_ratio=busy_ratio,
            slices=1,
        )
    return SharedCpus(
        workers=section.workers, cpus=section.cpus, mean_execution_s={**MEAN_EXECUTION_S, **files}
    )


# ---- eDragon's hosting platform ------------------------------------------------------------------

Loads = tuple[tuple[float, float], ...]
"""An application's load as steps (from_s, new sessions per paper second); times count from the
start of the run.
"""


@dataclass(frozen=True, slots=True)
class Host:
    """The settings of the hosting platform in a live run."""

    time_scale: float
    """Paper seconds per real second."""
    key: str
    """The kind and size of the server's TLS key, for example `rsa-7680`."""
    profile: Literal["paper", "cpu", "real"]
    """The page profile of the shops."""
    interactions_mean: float
    interactions_most: int


@dataclass(frozen=True)
class PlatformRun(_Run):
    """Applications that share the processors of one machine."""

    kind: ClassVar[str] = "platform"

    loads: tuple[Loads, ...]
    """The loads of each application."""
    duration_s: float
    """The end of the run, in paper seconds, at which all sessions in progress end."""
    processors: int
    capacity_ps: float
    """The capacity of the processors, in new sessions per paper second."""
    provisioning: Provisioning = "ecm"
    admission: PlatformAdmission = "eac"
    """With `none`, the CPU manager counts each application as needing all processors."""
    sharing: Sharing = "both"
    priorities: tuple[float, ...] = (1.0,)
    cto_s: float | None = None
    """The CPU time of a resumed connection in paper seconds, for admission control; None until it
    is measured.
    """
    ctn_s: float | None = None
    """The CPU time of a new connection in paper seconds, for admission control; None until it is
    measured.
    """
    host: Host | None = None
    """The settings of a live run; None in the simulator."""

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> "PlatformRun":
        """Return the run that `as_json` wrote."""
        loads = tuple(tuple((at_s, rate) for at_s, rate in each) for each in plain["loads"])
        host = plain["host"] and Host(**plain["host"])
        priorities = tuple(plain["priorities"])
        return cls(**{**plain, "loads": loads, "priorities": priorities, "host": host})

    def expected_sessions(self, application: int) -> float:
        """Return the expected number of new sessions at an application."""
        loads = self.loads[application]
        ends = [*(at_s for at_s, _ in loads[1:]), self.duration_s]
        return sum(
            rate * max(0.0, min(end_s, self.duration_s) - at_s)
            for (at_s, rate), end_s in zip(loads, ends, strict=True)
        )

    def expected_requests(self) -> float:
        """Return the approximate number of simulated requests: `_REPLIES_PER_SESSION` for each
        served session, and one for each rejected session.
        """
        sessions = sum(self.expected_sessions(i) for i in range(len(self.loads)))
        served = min(sessions, self.duration_s * self.capacity_ps)
        return served * _REPLIES_PER_SESSION + (sessions - served)

    def shortened(self, factor: float) -> "PlatformRun":
        """Return a copy of the run with a shorter duration."""
        loads = tuple(tuple((at_s * factor, rate) for at_s, rate in each) for each in self.loads)
        return self.with_(loads=loads, duration_s=self.duration_s * factor)


_REPLIES_PER_SESSION = 120.0


# ---- the ad server -------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdServerRun(_Run):
    """Clients that request banners from the ad server, in a live run."""

    kind: ClassVar[str] = "ad-server"

    clients: int
    concepts: int
    """The number of concepts per request."""
    threads: int
    """The number of threads for each high-priority request; every other request has one thread."""
    banners: int
    """The number of banners that the ad server searches; each has a contract."""

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> "AdServerRun":
        """Return the run that `as_json` wrote."""
        return cls(**plain)

    def expected_requests(self) -> float:
        """Return the number of clients, which determines the amount of planned work."""
        return float(self.clients)


RunSpec = ShopRun | PlatformRun | AdServerRun


def run_of(plain: Mapping[str, Any]) -> RunSpec:
    """Return the run, of any kind, from the JSON form that `as_json` returned."""
    given = dict(plain)
    kinds: dict[str, type[ShopRun | PlatformRun | AdServerRun]] = {
        each.kind: each for each in (ShopRun, PlatformRun, AdServerRun)
    }
    return kinds[given.pop("kind")].of_json(given)
