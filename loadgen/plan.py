"""The plan of a load generator as plain values: the kind, number and times of its customers.

The lab sends a plan as JSON, and a Locust master sends the plan to its workers. The options of the
command line and the web UI are converted to a plan. Durations are paper seconds.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from common import seeded_shop
from common.page_types import CAPACITY_RPS
from loadgen.workload.clients import ClientModel
from loadgen.workload.load_schedule import RateStep
from loadgen.workload.partly_open import Partly, PartlyOpenModel
from loadgen.workload.refusals import SessionModelError
from loadgen.workload.sessions import Customers, Schedule, Segment, SessionModel

RHO = 0.85
SESSIONS = 1000
"""The default offered load, and the default number of sessions."""
MOST_SESSIONS = 10_000_000
"""The maximum expected number of sessions in a plan that does not set their number."""


class PlanError(ValueError):
    """The error for an invalid plan; `field` is the name of the value, and the message has the
    allowed values.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the sessions: those whose number modulo `of` is `index`."""

    index: int = 0
    of: int = 1

    def count(self, total: int) -> int:
        """Return how many of `total` sessions (or customers) are in this part."""
        return len(range(self.index, total, self.of))


# ---- models in JSON ------------------------------------------------------------------------------

_M = TypeVar("_M", SessionModel, ClientModel, PartlyOpenModel)


def _reader(kind: type[_M]) -> Callable[[Any], _M]:
    defaults = {entry.name: entry.default for entry in fields(kind)}
    names = {"transitions" if name == "chain" else name for name in defaults}

    def read(given: Any) -> _M:
        if isinstance(given, kind):
            return given
        if not isinstance(given, Mapping):
            raise ValueError("must be an object with the model's parameters")
        values = dict(given)
        for name, value in given.items():
            if name not in names:
                raise SessionModelError(name, f"is unknown; give any of {', '.join(sorted(names))}")
            default = defaults.get(name, MISSING)
            if isinstance(default, int) and type(value) is not int:
                raise SessionModelError(name, f"{value!r} must be a whole number")
            if isinstance(default, float):
                if type(value) not in (int, float) and value != "inf":
                    raise SessionModelError(name, f"{value!r} must be a number")
                values[name] = float(value)
        try:
            return kind.of_parameters(values)
        except (AttributeError, KeyError, TypeError):
            raise ValueError(
                "a parameter has the wrong form; docs/loadgen.md shows the parameters"
            ) from None

    return read


def _pairs(given: Any) -> list[tuple[float, float]]:
    try:
        return [(float(first), float(second)) for first, second in given]
    except (TypeError, ValueError):
        raise ValueError("must be a list of pairs of numbers") from None


def _schedule(given: Any) -> Schedule:
    if isinstance(given, Schedule):
        return given
    return Schedule(tuple(Segment(*pair) for pair in _pairs(given)))


_WRITTEN = PlainSerializer(lambda model: model.parameters())
_Sessions = Annotated[SessionModel, PlainValidator(_reader(SessionModel)), _WRITTEN]
_Endless = Annotated[
    _Sessions,
    AfterValidator(lambda model: replace(model, timeout_s=math.inf, think_time_mean_s=0.0)),
]
_Clients = Annotated[ClientModel, PlainValidator(_reader(ClientModel)), _WRITTEN]
_Partly = Annotated[PartlyOpenModel, PlainValidator(_reader(PartlyOpenModel)), _WRITTEN]
_Schedule = Annotated[
    Schedule,
    PlainValidator(_schedule),
    PlainSerializer(lambda schedule: [list(segment) for segment in schedule.segments]),
]
_Steps = Annotated[
    tuple[RateStep, ...],
    PlainValidator(lambda given: tuple(RateStep(*pair) for pair in _pairs(given))),
    PlainSerializer(lambda steps: [list(step) for step in steps]),
]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Values(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as faults:
            raise _plan_error(faults) from None


def _plan_error(faults: ValidationError) -> PlanError:
    first = faults.errors()[0]
    place = [str(part) for part in first["loc"] if part not in _KINDS]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, PlanError | SessionModelError):
        return PlanError(".".join([*place, cause.field]), cause.message)
    message = str(cause) if cause else first["msg"].replace("Input should", "must", 1)
    if first["type"] != "missing":
        message += f" (it is {first['input']!r:.60})"
    return PlanError(".".join(place), message)


# ---- who comes -----------------------------------------------------------------------------------


class Sessions(_Values):
    """Sessions of LIFO-Pri's or SBAC's model, in an open loop.

    Exactly one of `count`, `until_s` and `schedule` must be given; it ends the arrivals. Without a
    schedule, either `rho` or `session_rate` sets the load. With a schedule, `session_rate` is the
    rate at ρ = 1.
    """

    kind: Literal["sessions"] = "sessions"
    model: _Sessions = Field(default_factory=SessionModel)
    capacity_rps: _Positive = CAPACITY_RPS
    rho: _Positive | None = None
    session_rate: _Positive | None = None
    schedule: _Schedule | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    until_s: _Positive | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        ends = ("count", "until_s", "schedule")
        if sum(getattr(self, name) is not None for name in ends) != 1:
            raise PlanError("count", f"give exactly one of {', '.join(ends)}")
        if self.schedule is not None:
            if self.rho is not None:
                raise PlanError("rho", "the schedule sets the loads; omit rho")
        elif (self.rho is None) == (self.session_rate is None):
            raise PlanError("rho", "give either rho or session_rate")
        return self

    @property
    def arrivals_until_s(self) -> float | None:
        """The time at which arrivals end (`until_s`), or None if the plan does not set it."""
        return self.until_s

    @property
    def rate(self) -> float:
        """The arrival rate in sessions per paper second. With a schedule, the rate at ρ = 1."""
        return self.session_rate or self.model.session_rate(self.rho or 1.0, self.capacity_rps)

    def customers(self, seed: int) -> Customers:
        return Customers(self.model, seed, self.rate, self.schedule)

    def planned(self, seed: int) -> int:
        """Return the number of arriving sessions. Raises PlanError if it is 0 or too large."""
        if self.count is not None:
            return self.count
        customers = self.customers(seed)
        if self.schedule is not None:
            expected = self.schedule.expected_sessions(self.rate)
            return _counted("load.schedule", expected, customers.arrivals)
        until_s = self.until_s or 0.0
        return _counted("load.until_s", self.rate * until_s, lambda: customers.arrivals(until_s))

    def facts(self, planned: int) -> dict[str, Any]:
        schedule = self.schedule
        return {
            "sessions": planned,
            "session_rate": self.rate,
            "rho": self.rho,
            "capacity_rps": self.capacity_rps,
            "load_schedule": schedule and [segment._asdict() for segment in schedule.segments],
            "model": self.model.parameters(),
        }


class ClosedLoop(_Values):
    """A capacity measurement, in which customers who never leave or pause play one session after
    another.

    The measurement begins after `warm_up_s` and takes `duration_s`.
    """

    kind: Literal["closed-loop"] = "closed-loop"
    model: _Endless = Field(default_factory=SessionModel, validate_default=True)
    customers: int = Field(ge=1)
    duration_s: _Positive = 120.0
    warm_up_s: float = Field(30.0, ge=0, allow_inf_nan=False)

    @property
    def arrivals_until_s(self) -> None:
        return None

    def sessions(self) -> Sessions:
        """Return the sessions that the customers play; their arrival rate has no effect."""
        return Sessions(model=self.model, rho=RHO, count=SESSIONS)

    def planned(self, seed: int) -> int:
        return self.customers

    def facts(self, planned: int) -> dict[str, Any]:
        return self.sessions().facts(SESSIONS)


class ClientLoop(_Values):
    """Clients of the Connection Sentry, which send requests until `until_s`."""

    kind: Literal["clients"] = "clients"
    model: _Clients = Field(default_factory=ClientModel)
    until_s: _Positive

    @model_validator(mode="after")
    def _can_be_logged(self) -> Self:
        try:
            self.model.require_duration(self.until_s)
        except SessionModelError as error:
            raise PlanError("until_s", error.message) from None
        return self

    @property
    def arrivals_until_s(self) -> float:
        """The time after which the clients send no more requests."""
        return self.until_s

    def planned(self, seed: int) -> int:
        return 2 * self.model.per_set

    def facts(self, planned: int) -> dict[str, Any]:
        return {"clients": self.model.parameters(), "control_clients": self.model.per_set}


class PartlyOpen(_Values):
    """Sessions of eDragon's model, which arrive at the rates of `steps` and are cut off at
    `stop_s`.

    Arrivals end at `until_s`, or at the last step if its rate is 0.
    """

    kind: Literal["partly-open"] = "partly-open"
    model: _Partly = Field(default_factory=PartlyOpenModel)
    steps: _Steps
    until_s: _Positive | None = None
    stop_s: _Positive | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        end_s = self.arrivals_until_s
        if self.stop_s is not None and self.stop_s < end_s:
            raise PlanError(
                "stop_s", f"{self.stop_s:g} is before the end of arrivals; give {end_s:g} or more"
            )
        return self

    @cached_property
    def schedule(self) -> Schedule:
        """The rates of new sessions, up to the end of arrivals."""
        steps, until_s = self.steps, self.until_s
        if until_s is None:
            if len(steps) < 2 or steps[-1].sessions_ps != 0:
                raise PlanError(
                    "until_s", "is missing; give this time, or end steps with a rate of 0"
                )
            until_s, steps = steps[-1].from_s, steps[:-1]
        try:
            return Schedule.of_rates(steps, until_s)
        except SessionModelError as error:
            field = error.field.replace("schedule", "steps")
            raise PlanError(field, error.message) from None

    @property
    def arrivals_until_s(self) -> float:
        return self.schedule.duration_s

    def planned(self, seed: int) -> int:
        """Return the number of arriving sessions. Raises PlanError if it is 0 or too large."""
        arrivals = Partly(self.model, seed).arrivals
        expected = self.schedule.expected_sessions(1.0)
        return _counted("load.steps", expected, lambda: arrivals(self.schedule))

    def facts(self, planned: int) -> dict[str, Any]:
        return {
            "sessions": planned,
            "partly_open": self.model.parameters(),
            "sessions_schedule": [step._asdict() for step in self.steps],
            "stop_s": self.stop_s,
        }


def _counted(field: str, expected: float, arrivals: Callable[[], Iterable[float]]) -> int:
    if expected > MOST_SESSIONS:
        raise PlanError(
            field, f"would plan about {expected:.3g} sessions; at most {MOST_SESSIONS} are allowed"
        )
    found = sum(1 for _ in arrivals())
    if not found:
        raise PlanError(field, "no session arrives in this time; give a longer time")
    return found


_KINDS = ("sessions", "closed-loop", "clients", "partly-open")

# ---- the plan ------------------------------------------------------------------------------------


class LoadPlan(_Values):
    """The plan of one run of a load generator. Raises PlanError for invalid values."""

    load: Sessions | ClosedLoop | ClientLoop | PartlyOpen = Field(discriminator="kind")
    seed: int = Field(1, ge=0)
    time_scale: _Positive = 10.0
    """Paper seconds per real second."""
    authority: Path | None = None
    """A PEM file with the trusted certificates for https, by default the system's."""
    load_factor_file: Path | None = None
    """A file with a factor for the arrival rate, which is read repeatedly while sessions arrive."""
    start_file: Path | None = None
    """A file for which the load generator waits before the run begins; None: it begins at once."""
    late_tolerance_s: _Positive = 0.05
    """The lag, in real seconds, above which an attempt counts as late."""
    attempts_file: Path | None = None
    account: str = seeded_shop.ACCOUNT_NAME
    account_password: str = seeded_shop.PASSWORD
    progress: Literal["none", "json"] = "none"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        try:
            self.account % 1
        except (TypeError, ValueError):
            raise PlanError(
                "account", f"{self.account!r} has no placeholder for a number, such as %04d"
            ) from None
        if self.load_factor_file and isinstance(self.load, ClosedLoop | ClientLoop):
            raise PlanError("load_factor_file", "a closed loop has no arrivals; omit this value")
        return self

    @classmethod
    def of_json(cls, plain: Any) -> "LoadPlan":
        """Return the plan with these JSON values. Raises PlanError if a value is invalid."""
        if not isinstance(plain, Mapping):
            raise PlanError("", "a plan must be a JSON object")
        return cls(**plain)

    def as_json(self) -> dict[str, Any]:
        """Return all values, ready for JSON; `of_json` reads them."""
        return self.model_dump(mode="json")

    def with_(self, **changes: Any) -> "LoadPlan":
        return LoadPlan(**{name: getattr(self, name) for name in LoadPlan.model_fields} | changes)

    @cached_property
    def planned(self) -> int:
        """The number of sessions (in a closed loop, customers or clients) in all parts together."""
        return self.load.planned(self.seed)

    def facts(self) -> dict[str, Any]:
        return self.load.facts(self.planned)

    def require_playable(self) -> None:
        """Raise PlanError if the plan has no customers, or if one of its files cannot
        be used here.
        """
        _ = self.planned
        if self.authority and not self.authority.is_file():
            raise PlanError("authority", f"there is no file {self.authority}")
        for name in ("attempts_file", "load_factor_file"):
            path: Path | None = getattr(self, name)
            if path and not path.parent.is_dir():
                raise PlanError(name, f"there is no folder {path.parent}; create it first")
            if path and path.is_dir():
                raise PlanError(name, f"{path} is a folder; give a file name in it")
