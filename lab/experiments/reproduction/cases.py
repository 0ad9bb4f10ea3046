"""One simulation of a reproduction, as plain values.

Owns: the description of a case, its identity, and turning it into the simulator's scenario.
Must not know: which figure asks for it, what is kept of it, how cases are spread over cores.

A case is everything but the seed. Two figures that need the same case name it with equal values
and share its simulations.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, Self

from gateway.policies import registry
from gateway.policies.interface import Abandonment
from loadgen.clients import ClientModel, Clients
from loadgen.sessions import (
    Chain,
    Customers,
    LengthClass,
    Schedule,
    Segment,
    SessionLengths,
    SessionModel,
)
from simulator.scenario import FifoServer, FileClass, Scenario, SharedCpus

Watched = Literal["sessions", "pages", "clients"]
"""What is kept: sessions as wholes (SBAC), every attempt by its page (LIFO-Pri), or those of the
control set by class of request (Connection Sentry)."""

_CHAIN = Chain()
_SERVERS = {"fifo": FifoServer, "shared-cpus": SharedCpus}


class AnyCase(Protocol):
    """What figures, claims, plan and store ask of a case, whatever it is a case of."""

    @property
    def id(self) -> str:
        """Equal for equal cases, on every machine."""
        ...

    @property
    def kind(self) -> str:
        """Cases of a kind take about the same time per request."""
        ...

    def as_json(self) -> dict[str, Any]:
        """All values, JSON-ready."""
        ...

    def expected_requests(self) -> float:
        """About how many requests are made: what decides how long it takes."""
        ...

    def shortened(self, factor: float) -> Self:
        """The same for a part of its time."""
        ...


def identity(plain: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits, equal for equal JSON-ready values, on every machine."""
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Case:
    """A simulation without its seed. Durations are paper seconds.

    ρ of the arrivals is `rho`, or `schedule`'s pairs of duration and ρ one after the other.
    Arrivals end after `duration_s`, after `sessions`, or with the schedule; then everybody
    finishes, unless `stop_s` cuts the run. With `clients` it is a closed loop: no ρ, and the
    clients ask for `duration_s`.
    """

    policy: str
    capacity_rps: float
    server: Mapping[str, Any]
    """`kind` (fifo, shared-cpus) and what differs from its defaults; file classes as lists."""
    customers: Mapping[str, Any]
    """What differs from `SessionModel`'s defaults; not used with `clients`."""
    clients: Mapping[str, Any] | None = None
    """What differs from `ClientModel`'s defaults; None: sessions that arrive."""
    abandonment: Abandonment = "ignore"
    rho: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    admission: str = registry.NO_ADMISSION
    admission_parameters: Mapping[str, Any] = field(default_factory=dict)
    lengths: Mapping[str, Any] | None = None
    """What `SessionLengths` takes; None: Fig. 1's chain."""
    schedule: tuple[tuple[float, float], ...] | None = None
    duration_s: float | None = None
    sessions: int | None = None
    stop_s: float | None = None
    utilisation_interval_s: float = 1.0
    session_known_from: Literal["admission", "answer"] = "answer"
    watched: Watched = "sessions"
    warm_up_s: float = 0.0
    """Sessions that arrive earlier, and requests of clients that begin earlier, are left out of
    what is kept by page and by class of request."""

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Case":
        """The case that `as_json` described."""
        schedule = plain["schedule"]
        return cls(**{**plain, "schedule": schedule and tuple(tuple(part) for part in schedule)})

    def as_json(self) -> dict[str, Any]:
        """All values, JSON-ready."""
        return asdict(self)

    @cached_property
    def id(self) -> str:
        """Equal for equal cases, on every machine."""
        return identity(self.as_json())

    def with_(self, **changes: Any) -> "Case":
        """The same but for `changes`."""
        return replace(self, **changes)

    @property
    def kind(self) -> str:
        """Cases of a kind take about the same time per request."""
        return f"{self.server['kind']}/{self.watched}"

    def shortened(self, factor: float) -> "Case":
        """The same for a part of its time, to see how long it takes."""
        return self.with_(
            duration_s=self.duration_s and self.duration_s * factor,
            sessions=self.sessions and max(1, round(self.sessions * factor)),
            schedule=self.schedule and tuple((s * factor, rho) for s, rho in self.schedule),
        )

    @property
    def mean_length(self) -> float:
        """Mean requests per session, of the distribution that lengths are rounded from."""
        if self.lengths is None:
            return _CHAIN.mean_requests()
        return sum(part.share * part.mean for part in _lengths(self.lengths).classes())

    @property
    def arrivals_s(self) -> float | None:
        """How long sessions arrive; None where their number decides."""
        if self.schedule:
            return sum(duration_s for duration_s, _ in self.schedule)
        return self.duration_s

    def expected_requests(self) -> float:
        """About how many requests are simulated: what decides how long it takes.

        A server at its capacity, and besides that one request of each session it turns away.
        """
        if self.clients is not None:
            model = self.client_model()
            offered_rps = 2 * model.per_set / model.think_time_mean_s
            return (self.duration_s or 0.0) * min(self.capacity_rps, offered_rps)
        mean = self.mean_length
        parts = self.schedule or ((self.duration_s, self.rho),)
        if self.sessions is not None:
            parts = ((self.sessions * mean / (self.rho * self.capacity_rps), self.rho),)
        return sum(
            (duration_s or 0.0) * self.capacity_rps * (min(rho, 1.0) + max(0.0, rho - 1.0) / mean)
            for duration_s, rho in parts
        )

    def model(self) -> SessionModel:
        """How its customers behave; raises SessionModelError."""
        lengths = None if self.lengths is None else _lengths(self.lengths)
        return SessionModel(lengths=lengths, **self.customers)

    def client_model(self) -> ClientModel:
        """How the clients of a closed loop behave; raises SessionModelError."""
        return ClientModel(**self.clients or {})

    def scenario(self, seed: int) -> Scenario:
        """The simulator's scenario; raises PolicyError, SessionModelError or ScenarioError."""
        server = dict(self.server)
        if "file_classes" in server:
            server["file_classes"] = tuple(FileClass(*part) for part in server["file_classes"])
        return Scenario(
            customers=self._arriving(seed)
            if self.clients is None
            else Clients(self.client_model(), seed),
            policy=registry.create(
                self.policy, self.parameters, self.admission, self.admission_parameters
            ),
            server=_SERVERS[server.pop("kind")](**server),
            seed=seed,
            sessions=self.sessions,
            arrivals_until_s=self.duration_s,
            stop_s=self.stop_s,
            utilisation_interval_s=self.utilisation_interval_s,
            abandonment=self.abandonment,
            session_known_from=self.session_known_from,
        )

    def _arriving(self, seed: int) -> Customers:
        model = self.model()
        schedule = self.schedule and Schedule(tuple(Segment(*part) for part in self.schedule))
        rho = 1.0 if self.schedule else self.rho
        return Customers(model, seed, model.session_rate(rho, self.capacity_rps), schedule or None)


def _lengths(plain: Mapping[str, Any]) -> SessionLengths:
    mixture = tuple(LengthClass(**part) for part in plain.get("mixture", ()))
    return SessionLengths(plain["kind"], plain.get("mean"), mixture)
