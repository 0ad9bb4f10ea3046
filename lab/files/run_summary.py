"""The outcome of a run: the record that an engine returns, and the content of run.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

VERSION = 2
"""The version of the form of run.json; files of version 1, which have no field `version`, can still
be read.
"""


def _at_most_1e12(value: float | None) -> float | None:
    if value is not None and abs(value) > 1e12:
        raise ValueError("must be from -1e12 to 1e12")
    return value


Number = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_at_most_1e12)]


class PlannedRun(BaseModel):
    """A planned run of a comparison."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    number: Annotated[int, Field(ge=0, lt=10**6)]
    policy: Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[^/\x00]+$")]
    rho: Number | None
    """The offered load; None in a closed loop."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)]

    @property
    def folder(self) -> str:
        """The name of the run's folder."""
        load = "" if self.rho is None else f"-rho{self.rho:g}"
        return f"{self.number:03}-{self.policy}{load}-seed{self.seed}"

    def title(self, of: int) -> str:
        """Return the title of the run, for example `[3/9] sq at ρ = 1.4, seed 1`."""
        load = "" if self.rho is None else f" at ρ = {self.rho:g}"
        return f"[{self.number}/{of}] {self.policy}{load}, seed {self.seed}"


class _Part(BaseModel):
    """A part of run.json. Entries that this version does not know are kept but not used."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class Check(_Part):
    """A check of two counts against each other: it holds if `low` ≤ `value` ≤ `high`."""

    model_config = ConfigDict(extra="ignore")

    statement: str
    value: int
    low: int
    high: int

    @property
    def holds(self) -> bool:
        """Whether the counts agree."""
        return self.low <= self.value <= self.high


class Counts(_Part):
    """The counts of gateway and shop, from `Appliance.counts`."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]


class Fates(_Part):
    """The number of sessions with each fate."""

    arrived: int
    rejected: int
    completed: int


class Schedule(_Part):
    """The delays of the load generator behind its schedule; times are in real seconds."""

    late_share: Number = 0.0
    late_tolerance_s: Number = 0.05
    max_behind_s: Number = 0.0


class LoadChange(_Part):
    """A change of the load: from `at_s` paper seconds on, the arrival rate of sessions was
    multiplied by `factor`.
    """

    at_s: Number
    factor: Number


class LoadGenerator(_Part):
    """The metadata of the attempts, which describe the customers and the load generator."""

    engine: str | None = None
    """The engine: `simulated`, or None for Locust."""
    started_at: Number | None = None
    """The Unix time at which the customers started."""
    schedule: Schedule | None = None
    load_changes: list[LoadChange] = []


class Fallback(_Part):
    """The time at which FIFO replaced a student's policy, and the reason."""

    at_s: Number
    reason: str


class BaselineProxy(_Part):
    """The baseline proxy that ran instead of the gateway."""

    name: str
    version: str


class AtOnce(_Part):
    """The facts about the shops of simultaneous runs."""

    shop: int
    """The number of this run's shop, from 1."""
    of: int
    shops: list[list[int]]
    """The CPUs of each shop."""
    rest: list[int]
    """The CPUs of all other processes."""
    crowded: bool
    apart_s: Number
    """The real seconds from the start of the first shop's customers to the start of the last shop's
    customers."""
    shops_rps: list[Number]
    """The capacity of each shop, in requests per paper second."""


class RunSummary(_Part):
    """The outcome of a run, from any engine."""

    version: int = 1
    policy: str = ""
    """The key of the policy in the spec."""
    rho: Number | None = None
    """The offered load; None in a closed loop."""
    seed: int | None = None
    completed_ratio: Number = 0.0
    """The completed requests divided by the requests that the sessions had planned."""
    confirms: int = 0
    duration_s: Number = 0.0
    reconciles: bool = True
    """Whether the counts of client, gateway and shop agree."""
    checks: list[Check] = []
    counts: Counts | None = None
    sessions: Fates | None = None
    """The number of sessions with each fate; None in a closed loop."""
    waste: Mapping[str, Any] | None = None
    """The wasted work (`engines.waste`); None if the run did not measure it."""
    load_generator: LoadGenerator = Field(default_factory=LoadGenerator)
    samples_missed: int = 0
    """The number of samples for which the gateway did not answer."""
    switched: list[Mapping[str, Any]] = []
    """The changes of the policy or the abandonment that users made during the run."""
    outages: list[Mapping[str, Any]] = []
    """The periods in which PostgreSQL or Redis was unavailable."""
    fallen_back: Fallback | None = None
    faults: list[Mapping[str, Any]] = []
    """The faults that a user caused during the run."""
    traced_ratio: Number = 0.0
    """The share of requests whose traces were exported; it should be 0 in a measurement."""
    shadows: list[Mapping[str, Any]] = []
    peer: BaselineProxy | None = None
    at_once: AtOnce | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the known values in the form of run.json."""
        plain = self.model_dump(mode="json", exclude_unset=True)
        for check, known in zip(plain.get("checks", ()), self.checks, strict=True):
            check["holds"] = known.holds
        return plain


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The counts of a run, and other facts that are not yet in the run's files."""

    before: Mapping[str, Any]
    """The counts of gateway and shop at the beginning of the run (`Appliance.counts`)."""
    after: Mapping[str, Any]
    """The counts of gateway and shop after the last request of the run."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of run.json."""
