"""The sections of a spec: policies, load, customers or clients, and the simulated server.

Durations are paper seconds. A section is checked in two steps. The first step checks the form:
keys, types, bounds and names of policies. The second step checks the content, such as a policy's
parameters, a workload model or a trace.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gateway.policies import (
    ADMISSIONS,
    NO_ADMISSION,
    POLICIES,
    Abandonment,
    PolicyError,
    find,
    is_path,
    stem,
)
from lab.errors import InvalidError
from loadgen import defaults

if TYPE_CHECKING:
    from gateway.policies.interface import Policy
    from gateway.students.calls import PolicyFile
    from loadgen.workload.clients import ClientModel
    from loadgen.workload.sessions import Schedule, SessionLengths, SessionModel


FORM: Final = "form"
"""The validation context in which only the form is checked, not the content."""


def is_form_only(info: ValidationInfo) -> bool:
    """Return whether the present check covers only the form of sections (the first step)."""
    return info.context == FORM


def at_most(number: int) -> BeforeValidator:
    """Return a validator that refuses a list with more than `number` entries, before the entries
    are checked.
    """

    def check(given: Any) -> Any:
        if isinstance(given, list | tuple) and len(given) > number:
            raise InvalidError(f"has {len(given):,} entries", allowed=f"at most {number}")
        return given

    return BeforeValidator(check)


Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Parameters = dict[str, float | int | dict[str, float]]

BaselineProxy = Literal["haproxy", "nginx"]
"""The name of a proxy that can replace the gateway."""

AtOnce = Literal[False, True, "crowded"]
"""Whether the policies run at the same time; `crowded` allows this even with too few CPUs."""
FEWEST_AT_ONCE, MOST_AT_ONCE = 2, 4
"""The minimum and the maximum number of shops that run at the same time."""

BUY_PROBABILITY = defaults.LIFO_PRI_BUY_PROBABILITY
"""The probability that a customer buys after reading the details, in LIFO-Pri's Fig. 1."""

MOST_LOADS = 200
MOST_STRETCHES = 1000
MOST_CLASSES = 100

LEAST_RHO = 0.01
MOST_RHO = 20.0
"""The smallest and the largest ρ. With a smaller ρ, sessions would arrive so rarely that a run
would take far too long.
"""

EXTENTS = ("sessions", "duration_s", "schedule")
"""The keys that limit the arrivals of sessions; a spec has at most one of them."""


class Section(BaseModel):
    """A part of a spec; it refuses unknown keys and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PolicyChoice(Section):
    """A queueing policy and its admission policy, with the parameters that the spec sets.

    A `name` that ends in .py is the path of a student's policy. If `gateway` names a baseline
    proxy, this proxy replaces the gateway, and `name` is also the name of the proxy.
    """

    name: str = Field(max_length=300)
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    """The digest of a student's file, set when a check first reads the file."""
    gateway: BaselineProxy | None = None
    """The baseline proxy in front of the shop; None (or `doorbuster`) means the gateway."""
    parameters: Parameters = {}
    admission: str = NO_ADMISSION
    admission_parameters: Parameters = {}
    abandonment: Abandonment | None = None
    """The abandonment in this policy's runs; None means the spec's abandonment."""
    label: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _proxies_have_one_name(cls, plain: Any) -> Any:
        if not isinstance(plain, dict) or "gateway" not in plain:
            return plain
        gateway = plain["gateway"]
        rest = {key: value for key, value in plain.items() if key != "gateway"}
        if gateway in ("doorbuster", None):
            return rest
        if gateway not in get_args(BaselineProxy):
            known = ["doorbuster", *get_args(BaselineProxy)]
            raise InvalidError("gateway", f"{gateway!r} is unknown", allowed=_either(known))
        if plain.get("name", gateway) != gateway:
            raise InvalidError(
                "name", f"{gateway} replaces the gateway and its policies; leave name out"
            )
        return {**plain, "name": gateway}

    @model_validator(mode="before")
    @classmethod
    def _which_text(cls, plain: Any, info: ValidationInfo) -> Any:
        if is_form_only(info) or not isinstance(plain, Mapping) or plain.get("sha256") is not None:
            return plain
        if not is_path(plain.get("name")):
            return plain
        from gateway.students import files, naming

        with _as_name():
            file = files.read(plain["name"])
            if isinstance(given := plain.get("parameters", {}), Mapping):
                naming.check(file, given)
        return {**plain, "sha256": file.sha256}

    @field_validator("label")
    @classmethod
    def _names_a_folder(cls, label: str | None) -> str | None:
        if label is not None and not re.fullmatch(r"\w[\w.,+ -]{0,59}", label):
            raise InvalidError(
                "must be a label", allowed="1 to 60 letters, digits, spaces and . , _ + -"
            )
        return label

    @model_validator(mode="after")
    def _known(self, info: ValidationInfo) -> "PolicyChoice":
        if self.sha256 is not None and not is_path(self.name):
            raise InvalidError("sha256", "allowed only if name is a path")
        if self.gateway is not None:
            if not self.is_pure_queueing or self.admission_parameters:
                raise InvalidError(
                    "admission",
                    "an admission policy needs the gateway's sessions, but "
                    f"{self.gateway} replaces the gateway",
                    allowed=repr(NO_ADMISSION),
                )
            if not is_form_only(info):
                from lab.baselines import sheets

                sheets.read(self.gateway, self.parameters)
            return self
        if self.admission == NO_ADMISSION and self.admission_parameters:
            known = [name for name in ADMISSIONS if name != NO_ADMISSION]
            raise InvalidError(
                "admission_parameters",
                f"given without an admission policy; allowed only if admission is {_either(known)}",
            )
        with _as_name():
            if not is_path(self.name):
                find(self.name, POLICIES, "policy")
            find(self.admission, ADMISSIONS, "admission")
            if not is_form_only(info):
                self._check_parameters()
        return self

    def _check_parameters(self) -> None:
        """Raise PolicyError if given parameters are invalid for the policy."""
        if self.sha256 is None and (self.parameters or self.admission_parameters):
            self.create()
        elif self.admission_parameters:
            # A student's file was checked when its digest was calculated, and may no longer exist.
            from gateway.policies import registry

            registry.create_admission(self.admission, self.admission_parameters)

    @property
    def key(self) -> str:
        """The name of the choice in runs, cells and folders: its label or, without a label, the
        names of its policies and its abandonment.

        Examples are `sq`, `sq+sbac-stable` and `sq+cancel`; the abandonment is included only if it
        differs from the spec's.
        """
        admission = None if self.is_pure_queueing else self.admission
        return self.label or "+".join(filter(None, (self.policy_name, admission, self.abandonment)))

    @property
    def policy_name(self) -> str:
        """The name of the queueing policy; for a file, the file's name without its suffix."""
        return stem(self.name)

    @property
    def is_pure_queueing(self) -> bool:
        """Whether the policy has no admission policy that turns sessions away."""
        return self.admission == NO_ADMISSION

    @property
    def file(self) -> "PolicyFile | None":
        """The student's file with the text of this digest; None without a digest. Raises
        PolicyError if the text is lost.
        """
        if self.sha256 is None:
            return None
        from gateway.students import files

        return files.known(self.name, self.sha256)

    def create(self) -> "Policy":
        """Return a new policy object; raises PolicyError if its parameters or file are invalid."""
        chosen = (self.parameters, self.admission, self.admission_parameters)
        if (file := self.file) is not None:
            from gateway.students import naming

            return naming.create(file, *chosen)
        from gateway.policies import registry

        return registry.create(self.name, *chosen)


@contextmanager
def _as_name() -> Iterator[None]:
    """Report faults of a policy at the key `name`."""
    try:
        yield
    except PolicyError as error:
        field = "name" if error.field == "policy" else error.field
        raise PolicyError(field, error.message, error.allowed) from None


class Stretch(Section):
    """A part of a schedule: a load and its duration."""

    duration_s: Positive
    rho: Annotated[float, Field(ge=0, le=20)]


class Arrivals(Section):
    """The shape of the load over the time of a run, given by a formula or a trace.

    The check of the spec reads a trace once, and stores its numbers of sessions in `counts`. A
    result therefore does not need the file of the trace.
    """

    formula: str | None = None
    """The formula of the load at `t` paper seconds; only the shape of the load matters."""
    trace: str | None = Field(None, max_length=300)
    """The name of an included trace, or the path of a trace's CSV or Parquet file."""
    counts: Annotated[
        tuple[Annotated[int, Field(ge=0, le=10**6)], ...] | None, at_most(MOST_STRETCHES)
    ] = Field(None, min_length=1)
    """The number of sessions in each step of the trace; all steps have the same length. It is set
    when the trace is first read.
    """
    traced_s: Annotated[float, Field(gt=0, le=1e7)] | None = None
    """The duration of the trace in paper seconds, set when the trace is first read."""

    @model_validator(mode="before")
    @classmethod
    def _read_once(cls, plain: Any, info: ValidationInfo) -> Any:
        if is_form_only(info) or not isinstance(plain, dict):
            return plain
        if not isinstance(plain.get("trace"), str) or plain.get("counts") is not None:
            return plain
        from lab.spec import traces

        found = traces.read(plain["trace"])
        return {**plain, "counts": found.counts, "traced_s": found.duration_s}

    @model_validator(mode="after")
    def _is_one(self, info: ValidationInfo) -> "Arrivals":
        if (self.formula is None) == (self.trace is None):
            raise InvalidError("give either a formula or a trace")
        if self.formula is not None:
            if self.counts is not None or self.traced_s is not None:
                raise InvalidError("counts", "belong to a trace; leave counts and traced_s out")
            if not is_form_only(info):
                self._check_formula(self.formula)
        elif self.counts is not None and (self.traced_s is None or not any(self.counts)):
            raise InvalidError(
                "counts",
                "traced_s is missing, or no session ever arrives",
                allowed="leave counts out",
            )
        return self

    def _check_formula(self, formula: str) -> None:
        from loadgen.workload.formula import Formula, FormulaError

        try:
            Formula(formula)
        except FormulaError as fault:
            raise InvalidError("formula", fault.message, allowed=fault.allowed) from None

    def shape(self, duration_s: float) -> "Schedule":
        """Return the loads during a run of this duration, as multiples of their mean. Raises
        InvalidError if the formula is invalid or no session would arrive.
        """
        from loadgen.workload.load_schedule import Schedule, Segment

        loads: list[float] = [float(count) for count in self.counts or ()]
        if self.formula is not None:
            from loadgen.workload.formula import Formula, FormulaError

            formula = Formula(self.formula)
            steps = max(1, min(MOST_STRETCHES, int(duration_s)))
            try:
                loads = [formula.at((i + 0.5) * duration_s / steps) for i in range(steps)]
            except FormulaError as fault:
                raise InvalidError(
                    "arrivals.formula", fault.message, allowed=fault.allowed
                ) from None
        mean = sum(loads) / len(loads)
        if not (0 < mean < float("inf")):
            raise InvalidError(
                "arrivals.formula", "no session ever arrives; the mean load must be above 0"
            )
        return Schedule(tuple(Segment(duration_s / len(loads), load / mean) for load in loads))


class Load(Section):
    """The offered load and its duration; each ρ has a separate run.

    Arrivals end after `sessions` sessions, after `duration_s`, or at the end of a `schedule`. A
    schedule contains the loads, so the run's ρ is then 1. With `arrivals`, the load changes during
    the run, and ρ is the mean load. A closed loop has no ρ; its clients send requests for
    `duration_s`.
    """

    rho: Annotated[
        tuple[Annotated[float, Field(ge=LEAST_RHO, le=MOST_RHO)], ...] | None, at_most(MOST_LOADS)
    ] = Field((1.4,), min_length=1)
    sessions: int | None = Field(None, ge=1, le=1_000_000)
    duration_s: Annotated[float, Field(gt=0, le=1e7)] | None = None
    schedule: Annotated[tuple[Stretch, ...] | None, at_most(MOST_STRETCHES)] = Field(
        None, min_length=1
    )
    arrivals: Arrivals | None = None
    """The shape of the load over `duration_s`. With a trace, the default of `duration_s` is the
    duration of the trace."""

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, plain: Any) -> Any:
        if not isinstance(plain, dict):
            return plain
        if plain.get("schedule") is not None:
            return {"rho": (1.0,), **plain}
        is_closed_loop = plain.get("rho", ()) is None
        if (
            not is_closed_loop
            and plain.get("arrivals") is None
            and all(plain.get(extent) is None for extent in EXTENTS)
        ):
            return {**plain, "sessions": 1000}
        return plain

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> "Load":
        if len(set(self.rhos)) < len(self.rhos):
            raise InvalidError(
                "rho",
                "a load is named twice",
                allowed="each load once. To repeat runs, set repetitions",
            )
        given = [extent for extent in EXTENTS if getattr(self, extent) is not None]
        if len(given) > 1:
            raise InvalidError(
                given[1], f"given together with {given[0]}", allowed=f"one of {', '.join(EXTENTS)}"
            )
        if self.schedule and self.rho not in (None, (1.0,)):
            raise InvalidError("rho", "a schedule has its own loads; leave rho out")
        if self.schedule and not any(stretch.rho for stretch in self.schedule):
            raise InvalidError(
                "schedule", "no session ever arrives", allowed="at least one rho above 0"
            )
        if self.arrivals is not None:
            for extent in ("sessions", "schedule"):
                if getattr(self, extent) is not None:
                    raise InvalidError(
                        extent, "given together with arrivals; use duration_s instead"
                    )
            if self.arrivals.trace is None and self.duration_s is None:
                raise InvalidError(
                    "duration_s", "is missing; a formula needs a duration in paper seconds"
                )
            if not is_form_only(info):
                self.arrivals.shape(self.arrivals_s or 0.0)
        return self

    @property
    def rhos(self) -> tuple[float | None, ...]:
        """The values of ρ, each with a separate run; `(None,)` for a closed loop."""
        return (None,) if self.rho is None else self.rho

    @property
    def arrivals_s(self) -> float | None:
        """The time during which sessions arrive, paper seconds; None if a number of sessions ends
        the arrivals.
        """
        if self.arrivals is not None:
            return self.duration_s or self.arrivals.traced_s
        if self.schedule:
            return math.fsum(stretch.duration_s for stretch in self.schedule)
        return self.duration_s

    def as_schedule(self) -> "Schedule | None":
        """Return the schedule as an object of the session model; None if the load does not change.

        With `arrivals`, the loads of the schedule are multiples of the run's ρ.
        """
        if self.arrivals is not None:
            return self.arrivals.shape(self.arrivals_s or 0.0)
        if not self.schedule:
            return None
        from loadgen.workload.load_schedule import Schedule, Segment

        return Schedule(tuple(Segment(each.duration_s, each.rho) for each in self.schedule))

    def schedule_at(self, rho: float | None) -> "Schedule | None":
        """Return the schedule of the run at `rho`, or None if the load does not change."""
        schedule = self.as_schedule()
        if schedule is None or self.arrivals is None or rho is None:
            return schedule
        from loadgen.workload.load_schedule import Schedule, Segment

        return Schedule(tuple(Segment(s, rho * load) for s, load in schedule.segments))

    def offered(self, rho: float | None) -> float | None:
        """Return the mean offered load of the run at `rho`."""
        schedule = None if self.arrivals else self.as_schedule()
        if schedule is None or rho is None:
            return rho
        return schedule.expected_sessions(rho) / schedule.duration_s

    def expected_sessions(self, session_rate: float) -> float:
        """Return the number of sessions in a run whose rate is `session_rate` at ρ (with a
        schedule: at ρ = 1).
        """
        if schedule := self.as_schedule():
            return schedule.expected_sessions(session_rate)
        return self.sessions or session_rate * (self.duration_s or 0.0)

    def words(self) -> str:
        """Return the number of sessions or the duration as text for headings: `1000 sessions`,
        `500 s of arrivals`."""
        if self.rho is None:
            return f"{self.arrivals_s:g} s of clients in a closed loop"
        if self.sessions is not None:
            return f"{self.sessions} sessions"
        how = ", scheduled" if self.schedule else ""
        if self.arrivals is not None:
            how = " by a formula" if self.arrivals.formula else f" as in {self.arrivals.trace}"
        return f"{self.arrivals_s:g} s of arrivals{how}"


class Class(Section):
    """A class of sessions in a mixture of lengths."""

    name: str = Field(max_length=40, pattern=r"^[\w.+-]+( [\w.+-]+)*$")
    share: float
    mean: float


class Lengths(Section):
    """The distribution of the number of requests per session, which replaces LIFO-Pri's chain
    (SBAC, section 4 and Table 1).
    """

    kind: Literal["geometric", "exponential"] = "geometric"
    mean: float | None = None
    mixture: Annotated[tuple[Class, ...] | None, at_most(MOST_CLASSES)] = None

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> "Lengths":
        if not is_form_only(info):
            self.as_model()
        return self

    def as_model(self) -> "SessionLengths":
        """Return the lengths as an object of the session model; raises SessionModelError if they
        are invalid.
        """
        from loadgen.workload.lengths import LengthClass, SessionLengths

        classes = (LengthClass(each.name, each.share, each.mean) for each in self.mixture or ())
        return SessionLengths(self.kind, self.mean, tuple(classes))

    def words(self) -> str:
        """Return a short text for file names: `geometric-15`, `exponential-mixture-28.2-73.6`."""
        means = sorted(each.mean for each in self.mixture or ()) or [self.mean or 0.0]
        mixed = ["mixture"] if self.mixture else []
        return "-".join([self.kind, *mixed, *(f"{mean:g}" for mean in means)])


class Customers(Section):
    """The customers' impatience and retries (LIFO-Pri, section 3.2.1), and the lengths of their
    sessions."""

    timeout_s: Positive = defaults.LIFO_PRI_TIMEOUT_S
    think_timeout_mean_s: NotNegative = defaults.LIFO_PRI_THINK_TIMEOUT_MEAN_S
    retry_probability: float = Field(defaults.LIFO_PRI_RETRY_PROBABILITY, ge=0, le=1)
    max_retries: int = Field(defaults.LIFO_PRI_MAX_RETRIES, ge=0, le=100)
    think_time_mean_s: NotNegative = defaults.LIFO_PRI_THINK_TIME_MEAN_S
    buy_probability: float = Field(BUY_PROBABILITY, ge=0, le=1)
    """The probability that a customer buys after reading the details (Br-4 → Tr-1)."""
    lengths: Lengths | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> "Customers":
        if self.lengths and self.buy_probability != BUY_PROBABILITY:
            raise InvalidError(
                "buy_probability",
                "with customers.lengths, sessions do not follow the chain, so customers "
                "buy nothing",
                allowed="leave it out",
            )
        return self

    def as_model(self) -> "SessionModel":
        """Return the customers as an object of the session model."""
        from loadgen.workload.chain import LIFO_PRI_TRANSITIONS
        from loadgen.workload.sessions import Chain, SessionModel

        others = ("lengths", "buy_probability")
        given = {name: getattr(self, name) for name in Customers.model_fields if name not in others}
        return SessionModel(
            chain=Chain(
                {
                    **LIFO_PRI_TRANSITIONS,
                    "Br-4": {**LIFO_PRI_TRANSITIONS["Br-4"], "Tr-1": self.buy_probability},
                }
            ),
            **given,
            lengths=self.lengths.as_model() if self.lengths else None,
        )


class Clients(Section):
    """The Connection Sentry's clients, in a closed loop (section 4.2)."""

    per_set: int = defaults.CONNECTION_SENTRY_PER_SET
    patience_max_s: float = defaults.CONNECTION_SENTRY_PATIENCE_MAX_S
    think_time_mean_s: float = defaults.CONNECTION_SENTRY_THINK_TIME_MEAN_S
    reload_probability: float = defaults.CONNECTION_SENTRY_RELOAD_PROBABILITY
    away_mean_s: float = defaults.CONNECTION_SENTRY_AWAY_MEAN_S
    mix: dict[str, float] = dict(defaults.CONNECTION_SENTRY_MIX)
    """The weight of each request class."""

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> "Clients":
        if not is_form_only(info):
            self.as_model()
        return self

    def as_model(self) -> "ClientModel":
        """Return the clients as an object of the load generator; raises SessionModelError if they
        are invalid.
        """
        from loadgen.workload.clients import ClientModel

        return ClientModel(**self.model_dump())


class SharedCpusServer(Section):
    """LIFO-Pri's server; the page profile defines the execution times of its pages."""

    kind: Literal["shared-cpus"] = "shared-cpus"
    workers: int = Field(defaults.LIFO_PRI_WORKERS, ge=1, le=10_000)
    cpus: int = Field(defaults.LIFO_PRI_CPUS, ge=1, le=1000)
    execution_factor: float = Field(1.0, ge=0.1, le=10)
    """The actual execution times of pages, divided by the times that ρ and capacity assume."""
    session_known_from: Literal["answer", "admission"] = "answer"


class FifoServerSection(Section):
    """SBAC's server, which serves one request at a time.

    The queueing policy of a run acts as the server's listen queue.
    """

    kind: Literal["fifo"]
    capacity_rps: Annotated[float, Field(gt=0, le=1e6)] = defaults.SBAC_CAPACITY_RPS
    rejection: Literal["ahead", "free"] = defaults.SBAC_REJECTION
    rejection_cost: Annotated[float, Field(ge=0, le=1000)] = defaults.SBAC_REJECTION_COST
    session_known_from: Literal["answer", "admission"] = "admission"


def _server_kind(plain: Any) -> str:
    if isinstance(plain, Mapping):
        return str(plain.get("kind", "shared-cpus"))
    return str(getattr(plain, "kind", plain))


Server = Annotated[
    Annotated[SharedCpusServer, Tag("shared-cpus")] | Annotated[FifoServerSection, Tag("fifo")],
    Discriminator(
        _server_kind,
        custom_error_type="unknown_kind",
        custom_error_message="is unknown",
    ),
]


def _either(names: Iterable[str]) -> str:
    return " or ".join(repr(name) for name in names) or "none is known"
