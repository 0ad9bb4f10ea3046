"""The spec of an experiment: what is run, in paper seconds.

Owns: the form of a spec file, its checks and its defaults. A spec is versioned TOML; unknown keys
are refused. Must not know: how a run is made.
"""

import hashlib
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gateway.policies import registry
from lab.experiments.errors import ExperimentError
from loadgen.sessions import SessionModel

SPECS = Path(__file__).parent / "specs"

Positive = Annotated[float, Field(gt=0)]

_MODEL = SessionModel()


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PolicyChoice(_Strict):
    """A queueing policy with what is set differently from its published defaults."""

    name: str
    parameters: dict[str, float | int | dict[str, float]] = {}

    @model_validator(mode="after")
    def _known(self) -> "PolicyChoice":
        registry.create(self.name, self.parameters)
        return self


class Load(_Strict):
    """How much is offered: every ρ is a run of its own. `sessions` are started in each run."""

    rho: tuple[Annotated[float, Field(gt=0, le=20)], ...] = Field((1.4,), min_length=1)
    sessions: int = Field(1000, ge=1, le=1_000_000)

    @field_validator("rho")
    @classmethod
    def _distinct(cls, rho: tuple[float, ...]) -> tuple[float, ...]:
        if len(set(rho)) < len(rho):
            raise ValueError("a load is named twice; use repetitions to repeat runs")
        return rho


class Customers(_Strict):
    """Impatience and retries (LIFO-Pri, section 3.2.1)."""

    timeout_s: Positive = _MODEL.timeout_s
    think_timeout_mean_s: Positive = _MODEL.think_timeout_mean_s
    retry_probability: float = Field(_MODEL.retry_probability, ge=0, le=1)
    max_retries: int = Field(_MODEL.max_retries, ge=0, le=100)
    think_time_mean_s: float = Field(_MODEL.think_time_mean_s, ge=0)


class Spec(_Strict):
    """A whole experiment. Durations are paper seconds; `time_scale` of them pass in a live one."""

    version: Literal[1] = 1
    title: str = Field("Comparison", min_length=1, max_length=200)
    engine: Literal["live"] = "live"
    policy: tuple[PolicyChoice, ...] = Field(
        tuple(PolicyChoice(name=name) for name in ("sq", "8q-af", "8q-lifo-pri")), min_length=1
    )
    admission: Literal["none"] = "none"
    abandonment: Literal["ignore"] = "ignore"
    load: Load = Load()
    customers: Customers = Customers()
    page_profile: Literal["paper", "real"] = "paper"
    seed: int = Field(1, ge=0)
    repetitions: int = Field(1, ge=1, le=1000)
    time_scale: float = Field(10.0, ge=1, le=100)
    utilisation_interval_s: float = Field(1.0, ge=0.1, le=600)
    warm_up_s: float = Field(0.0, ge=0)

    @field_validator("policy")
    @classmethod
    def _distinct(cls, policies: tuple[PolicyChoice, ...]) -> tuple[PolicyChoice, ...]:
        names = [policy.name for policy in policies]
        if len(set(names)) < len(names):
            raise ValueError(f"a policy is named twice: {', '.join(names)}")
        return policies

    def to_toml(self) -> str:
        """The spec as a file, every default written out."""
        return tomli_w.dumps(self.model_dump(mode="json"))

    @property
    def fingerprint(self) -> str:
        """Equal for specs that ask for the same runs."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()[:12]


def read_spec(text: str, origin: str) -> Spec:
    """The spec in `text`; raises ExperimentError, a line per fault, each naming its field."""
    try:
        plain = tomllib.loads(text)
        if "version" not in plain:
            raise ExperimentError(f"{origin}: version: is missing; allowed: version = 1")
        return Spec.model_validate(plain)
    except tomllib.TOMLDecodeError as fault:
        raise ExperimentError(f"{origin}: not TOML: {fault}") from None
    except ValidationError as faults:
        raise ExperimentError(explain(faults, origin)) from None


def load_spec(name_or_path: str) -> Spec:
    """A spec by the path of its file, or by the name of one that comes with the lab."""
    path = Path(name_or_path)
    shipped = SPECS / f"{name_or_path}.toml"
    if not path.is_file() and shipped.is_file():
        path = shipped
    try:
        return read_spec(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as fault:
        names = ", ".join(sorted(spec.stem for spec in SPECS.glob("*.toml")))
        raise ExperimentError(
            f"spec {name_or_path!r} cannot be read ({_reason(fault)}); "
            f"allowed: the path of a TOML file, or one of {names}"
        ) from None


def _reason(fault: OSError | UnicodeDecodeError) -> str:
    return fault.strerror or str(fault) if isinstance(fault, OSError) else "it is not UTF-8"


def changed(spec: Spec, **changes: object) -> Spec:
    """`spec` with some fields replaced (None leaves one as it is), checked again."""
    plain = spec.model_dump(mode="json")
    for field, value in changes.items():
        if value is None:
            continue
        section, _, key = field.partition("__")
        if key:
            plain[section][key] = value
        else:
            plain[section] = value
    try:
        return Spec.model_validate(plain)
    except ValidationError as faults:
        raise ExperimentError(explain(faults, "options")) from None


def explain(faults: ValidationError, origin: str) -> str:
    """Pydantic's findings, a line each: where, what, and what would be right."""
    lines = []
    deeper = {fault["loc"][:-1] for fault in faults.errors()}
    for fault in faults.errors():
        if fault["loc"] in deeper:
            continue  # a list is said to be too short because its items are wrong: say that once
        where = ".".join(str(part) for part in fault["loc"]) or "spec"
        if fault["type"] == "extra_forbidden":
            section = Spec
            for part in fault["loc"][:-1]:
                inner = {"load": Load, "customers": Customers, "policy": PolicyChoice}
                section = inner.get(str(part), section)
            known = ", ".join(section.model_fields)
            lines.append(f"{origin}: {where}: unknown key; allowed: {known}")
        else:
            message = fault["msg"].removeprefix("Value error, ")
            given = fault["input"]
            shown = "" if isinstance(given, dict | list | tuple) else f" (given: {given!r:.60})"
            lines.append(f"{origin}: {where}: {message}{shown}")
    return "\n".join(lines)
