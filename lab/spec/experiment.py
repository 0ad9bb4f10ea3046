"""Read, check and change the spec of an experiment.

The functions that read a spec check only its form; `checked` checks the whole spec before the
experiment begins. Durations are paper seconds.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, Abandonment, PolicyError, find
from lab.errors import Fault, InvalidError, SpecError
from lab.spec import sections as spec_sections
from lab.spec import text as spec_text
from lab.spec.sections import (
    BUY_PROBABILITY,
    EXTENTS,
    FEWEST_AT_ONCE,
    FORM,
    MOST_AT_ONCE,
    AtOnce,
    Clients,
    Customers,
    FifoServerSection,
    Load,
    PolicyChoice,
    Section,
    Server,
    at_most,
    is_form_only,
)

SPECS = Path(__file__).parent / "specs"

Engine = Literal["live", "simulated"]

MOST_POLICIES = 100
MOST_SHADOWS = 8
MOST_RUNS = 200_000
"""The maximum number of runs in a spec; a result has a folder for each run."""
MOST_SEED = 2**63 - 1
CHANGES = "options"
"""The origin of the faults of a changed spec (`changed`)."""
MOST_FAULTS = 20
"""An error message lists at most this number of a spec's faults."""

_NO_OPTIONS: Mapping[str, str] = {}
_DEFAULT_POLICIES = ("sq", "8q-af", "8q-lifo-pri")


def _books(number: int, info: ValidationInfo) -> int:
    if is_form_only(info):
        return number
    from common.shared_settings import LEAST_BOOKS, MOST_BOOKS

    if not LEAST_BOOKS <= number <= MOST_BOOKS:
        raise InvalidError(f"must be a whole number from {LEAST_BOOKS} to {MOST_BOOKS}")
    return number


class Spec(Section):
    """A whole experiment. Durations are in paper seconds; a real second has `time_scale` paper
    seconds."""

    version: Literal[1] = 1
    title: str = Field("Comparison", min_length=1, max_length=200)
    engine: Engine = "live"
    abandonment: Abandonment = "ignore"
    policy: Annotated[tuple[PolicyChoice, ...], at_most(MOST_POLICIES)] = Field(
        tuple(PolicyChoice(name=name) for name in _DEFAULT_POLICIES), min_length=1
    )
    admission: str = NO_ADMISSION
    load: Load = Load()
    customers: Customers = Customers()
    clients: Clients | None = None
    page_profile: Literal["paper", "real", "cpu"] = "paper"
    catalogue_books: Annotated[int, AfterValidator(_books)] | None = None
    database_cpus: Literal["other", "shop"] = "other"
    at_once: AtOnce = False
    leaderboard: bool = False
    """Whether the report shows ranks, the gain from each rule of DOOR, and fairness."""
    shadows: Annotated[tuple[str, ...], at_most(MOST_SHADOWS)] = ()
    """The policies that observe every live run, with their default settings, without making
    decisions."""
    server: Server | None = None
    seed: int = Field(1, ge=0, le=MOST_SEED)
    repetitions: int = Field(1, ge=1, le=1000)
    time_scale: float = Field(10.0, ge=1, le=100)
    utilisation_interval_s: float = Field(1.0, ge=0.1, le=600)
    warm_up_s: float = Field(0.0, ge=0)

    @field_validator("admission")
    @classmethod
    def _known(cls, admission: str) -> str:
        find(admission, ADMISSIONS, "admission")
        return admission

    @field_validator("shadows")
    @classmethod
    def _known_shadows(cls, shadows: tuple[str, ...]) -> tuple[str, ...]:
        for name in shadows:
            find(name, POLICIES, "policy")
        if len(set(shadows)) < len(shadows):
            raise InvalidError(f"{_twice(shadows)} is named twice", allowed="each policy once")
        return shadows

    @model_validator(mode="before")
    @classmethod
    def _admission_of_those_without_their_own(cls, plain: Any) -> Any:
        # A tuple, because a list or a table as the value has no hash.
        if not isinstance(plain, dict) or plain.get("admission") not in tuple(ADMISSIONS):
            return plain
        policies = plain.get("policy", [{"name": name} for name in _DEFAULT_POLICIES])
        if not isinstance(policies, list | tuple):
            return plain
        admission = {"admission": plain["admission"]}
        return {
            **plain,
            "policy": [
                {**admission, **one}
                if isinstance(one, dict) and one.get("gateway", "doorbuster") == "doorbuster"
                else one
                for one in policies
            ],
        }

    @model_validator(mode="before")
    @classmethod
    def _a_closed_loop_has_no_rho(cls, plain: Any) -> Any:
        if not isinstance(plain, dict) or plain.get("clients") is None:
            return plain
        load = plain.get("load", {})
        return {**plain, "load": {"rho": None, **load}} if isinstance(load, dict) else plain

    @field_validator("policy")
    @classmethod
    def _abandonment_of_their_own(
        cls, policies: tuple[PolicyChoice, ...], info: ValidationInfo
    ) -> tuple[PolicyChoice, ...]:
        """Remove a policy's abandonment if it equals the spec's abandonment, so that the policy's
        key does not name it.
        """
        return tuple(
            policy.model_copy(update={"abandonment": None})
            if policy.abandonment == info.data.get("abandonment")
            else policy
            for policy in policies
        )

    @field_validator("policy")
    @classmethod
    def _distinct(cls, policies: tuple[PolicyChoice, ...]) -> tuple[PolicyChoice, ...]:
        keys = [policy.key for policy in policies]
        if len(set(keys)) < len(keys):
            raise InvalidError(f"{_twice(keys)} is named twice; give each policy a different label")
        return policies

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> "Spec":
        if self.number_of_runs > MOST_RUNS:
            raise InvalidError(
                "repetitions",
                f"{len(self.policy)} policies × {len(self.load.rhos)} loads × "
                f"{self.repetitions} repetitions are {self.number_of_runs:,} runs",
                allowed=f"at most {MOST_RUNS:,}",
            )
        if self.engine == "live":
            if self.server is not None:
                raise InvalidError(
                    "server", "describes a simulated server; allowed only with engine = 'simulated'"
                )
            if self.customers.buy_probability != BUY_PROBABILITY:
                raise InvalidError(
                    "customers.buy_probability",
                    "live sessions always follow LIFO-Pri's chain; allowed with engine = "
                    f"'live': {BUY_PROBABILITY:g}",
                )
        else:
            self._refuse_what_only_the_shop_has()
        if self.at_once:
            self._refuse_what_one_shop_has()
        if self.leaderboard:
            self._refuse_what_nobody_is_ranked_by()
        if self.shadows and self.engine != "live":
            raise InvalidError(
                "shadows",
                "shadow policies run in the gateway, and a simulation has no gateway; "
                "allowed only with engine = 'live'",
            )
        for policy in self.policy:
            if policy.gateway is not None:
                self._refuse_what_no_proxy_has(policy, policy.gateway)
        if self.clients:
            self._refuse_what_no_closed_loop_has()
        elif self.load.rho is None:
            raise InvalidError(
                "load.rho", "is missing; it can be left out only if the spec has [clients]"
            )
        arrivals_s = self.load.arrivals_s
        if arrivals_s is not None and self.warm_up_s >= arrivals_s:
            raise InvalidError(
                "warm_up_s", f"must be less than {arrivals_s:g}, the end of the arrivals"
            )
        if self.has_fifo_server and "page_profile" in self.model_fields_set:
            raise InvalidError(
                "page_profile", "a fifo server serves files, not pages", allowed="leave it out"
            )
        if not is_form_only(info):
            self._check_parts_together()
        return self

    def _check_parts_together(self) -> None:
        for policy in self.policy:
            if policy.gateway is not None:
                self._check_parameters_of_proxy(policy, policy.gateway)
        if self.clients:
            self._check_duration_of_clients(self.clients)
        if self.server is not None and self.server.session_known_from == "admission":
            self._refuse_whom_only_an_answer_makes_known()

    def _refuse_what_only_the_shop_has(self) -> None:
        if self.page_profile == "real":
            raise InvalidError(
                "page_profile",
                "'real' exists only in the real shop; allowed with engine = 'simulated': "
                "'paper' or 'cpu'",
            )
        if self.catalogue_books is not None:
            raise InvalidError(
                "catalogue_books",
                "a simulated server has no catalogue; allowed only with engine = 'live'",
            )
        if self.database_cpus != "other":
            raise InvalidError(
                "database_cpus",
                "a simulated server has no database; allowed with engine = 'simulated': 'other'",
            )

    def _refuse_what_one_shop_has(self) -> None:
        if self.engine != "live":
            raise InvalidError(
                "at_once",
                "simulated runs need no separate shops; allowed only with engine = 'live'",
            )
        if not FEWEST_AT_ONCE <= len(self.policy) <= MOST_AT_ONCE:
            raise InvalidError(
                "at_once",
                f"{len(self.policy)} policies need as many separate shops",
                allowed=f"{FEWEST_AT_ONCE} to {MOST_AT_ONCE} policies",
            )
        if self.database_cpus != "other":
            raise InvalidError(
                "database_cpus",
                "several shops share one database; with at_once, this must be 'other'",
            )

    def _refuse_what_nobody_is_ranked_by(self) -> None:
        if self.clients or self.customers.lengths:
            raise InvalidError(
                "leaderboard",
                "policies are ranked by sales, and these customers do not buy; leave out "
                "[clients] and customers.lengths",
            )
        if self.load.schedule:
            raise InvalidError(
                "leaderboard", "the leaderboard has a column for each rho; leave out load.schedule"
            )

    def _refuse_what_no_proxy_has(self, policy: PolicyChoice, proxy: str) -> None:
        if self.engine != "live":
            raise InvalidError(
                "policy",
                f"{proxy} is a real program, which the simulator cannot run; allowed only "
                "with engine = 'live'",
            )
        if self.at_once:
            raise InvalidError(
                "at_once",
                f"{proxy} can run only in front of the appliance's own shop; leave out "
                "at_once or the baseline proxies",
            )
        if self.shadows:
            raise InvalidError(
                "shadows",
                f"shadow policies run in the gateway, which {proxy} replaces; leave out "
                "shadows or the baseline proxies",
            )

    def _check_parameters_of_proxy(self, policy: PolicyChoice, proxy: str) -> None:
        from lab.baselines import sheets

        if self.clients and not sheets.knows_its_rate(proxy, policy.parameters):
            raise InvalidError(
                "policy",
                f"{proxy}'s rate is a share of the capacity, and a closed loop has no "
                "capacity; set parameters.rate_rps",
            )
        sheets.check_leaving(proxy, policy.parameters, self.abandonment_of(policy))

    def _refuse_whom_only_an_answer_makes_known(self) -> None:
        """Refuse policies that need sessions, such as DOOR, if the spec counts a session as known
        before its first answer.
        """
        for policy in self.policy:
            if _goes_by_sessions(policy):
                raise InvalidError(
                    "server.session_known_from",
                    f"{policy.policy_name} recognises sessions by the gateway's cookie, "
                    "which comes with an answer",
                    allowed="'answer'",
                )

    def _refuse_what_no_closed_loop_has(self) -> None:
        if "customers" in self.model_fields_set:
            raise InvalidError(
                "customers", "given together with clients", allowed="either customers or clients"
            )
        for key in ("rho", "sessions", "schedule", "arrivals"):
            if getattr(self.load, key) is not None:
                raise InvalidError(
                    f"load.{key}", "clients are a closed loop; allowed in [load]: duration_s"
                )
        if self.load.duration_s is None:
            raise InvalidError(
                "load.duration_s",
                "is missing; give the paper seconds in which clients send requests",
            )
        if self.has_fifo_server:
            raise InvalidError(
                "server.kind",
                "clients need request classes, and a fifo server has none; allowed with "
                "clients: 'shared-cpus'",
            )

    def _check_duration_of_clients(self, clients: Clients) -> None:
        from loadgen.workload.refusals import SessionModelError

        try:
            clients.as_model().require_duration(self.load.duration_s or 0.0)
        except SessionModelError as error:
            raise InvalidError(f"load.{error.field}", error.message) from None

    @property
    def number_of_runs(self) -> int:
        """The number of runs in the experiment: policies × loads × repetitions."""
        return len(self.policy) * len(self.load.rhos) * self.repetitions

    @property
    def has_fifo_server(self) -> bool:
        """Whether the simulated server is SBAC's FIFO server."""
        return isinstance(self.server, FifoServerSection)

    def choice(self, key: str) -> PolicyChoice:
        """Return the policy with this key; raises KeyError if there is none."""
        return {policy.key: policy for policy in self.policy}[key]

    @property
    def heading(self) -> str:
        """The title of the spec, with the loads unless it has a schedule or a closed loop."""
        if self.load.rho is None or self.load.schedule:
            return self.title
        return f"{self.title} at ρ = {', '.join(f'{rho:g}' for rho in self.load.rho)}"

    def abandonment_of(self, policy: PolicyChoice) -> Abandonment:
        """The abandonment in this policy's runs: what happens when a customer leaves."""
        return policy.abandonment or self.abandonment

    def plain(self) -> dict[str, Any]:
        """Return every value of the spec, including defaults, in a form that TOML and JSON can
        represent.
        """
        plain = self.model_dump(mode="json", exclude_none=True)
        if self.has_fifo_server:
            del plain["page_profile"]
        if self.clients:
            del plain["customers"]
        return plain

    def to_toml(self) -> str:
        """Return the spec as the text of a TOML file, including every default."""
        return tomli_w.dumps(self.plain())

    @property
    def fingerprint(self) -> str:
        """A text that identifies the spec's content: equal specs have equal texts."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()[:12]


def _twice(names: Sequence[str]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _goes_by_sessions(policy: PolicyChoice) -> bool:
    """Return whether a policy needs sessions; False for a baseline proxy, and for a policy file
    whose text is lost.
    """
    from gateway.policies import registry

    try:
        if policy.file is not None:
            from gateway.students.naming import sheet_of_file

            return sheet_of_file(policy.file).needs_sessions
        return policy.gateway is None and registry.sheet(policy.name).needs_sessions
    except PolicyError:
        return False


def read_spec(text: str, origin: str) -> Spec:
    """Return the spec in `text` after checking its form.

    Raises SpecError with a line for each fault; the line names the field.
    """
    return spec_of(spec_text.parse(text, origin), origin)


def spec_of(plain: Mapping[str, Any], origin: str) -> Spec:
    """Return the spec that a file's values describe, after checking its form; raises SpecError if
    it is invalid."""
    if "version" not in plain:
        raise SpecError(origin, "version", "is missing", allowed="version = 1")
    return _validated(plain, origin, FORM)


def load_spec(name_or_path: str) -> Spec:
    """Return the spec in the file with this path, or the included spec with this name, after
    checking only its form.

    Raises SpecError if the spec cannot be read or is invalid.
    """
    path = _path_of(name_or_path)
    try:
        return read_spec(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as fault:
        names = ", ".join(sorted(spec.stem for spec in SPECS.glob("*.toml")))
        raise SpecError(
            f"spec {name_or_path!r} cannot be read ({_reason(fault)})",
            allowed=f"the path of a TOML file, or one of {names}",
        ) from None


def checked(spec: Spec, origin: str) -> Spec:
    """Return the spec after checking all of it, including parameters, models of customers and
    arrivals.

    The returned spec also contains the counts of its trace and the digests of students' files.
    Raises SpecError if the spec is invalid.
    """
    return _validated(spec.plain(), origin)


def checked_without_files(spec: Spec, origin: str) -> Spec:
    """Return the result of `checked` for a spec that another person sent.

    Also raises SpecError if the spec names the path of a trace, because the sender may not have the
    right to read this file.
    """
    arrivals = spec.load.arrivals
    if arrivals is not None and arrivals.trace is not None and arrivals.counts is None:
        from lab.spec import traces

        if arrivals.trace not in traces.names():
            raise SpecError(
                origin,
                "load.arrivals.trace",
                f"{arrivals.trace!r:.80} is not one of the included traces",
                allowed=f"{', '.join(traces.names())}, or any name together with counts and "
                "traced_s",
            )
    return checked(spec, origin)


def load_checked(name_or_path: str) -> Spec:
    """Return a spec as `load_spec` does, but check all of it; raises SpecError if it is invalid."""
    return checked(load_spec(name_or_path), str(_path_of(name_or_path)))


def _path_of(name_or_path: str) -> Path:
    path, shipped = Path(name_or_path), SPECS / f"{name_or_path}.toml"
    return shipped if not path.is_file() and shipped.is_file() else path


def _validated(
    plain: Mapping[str, Any],
    origin: str,
    context: str | None = None,
    options: Mapping[str, str] = _NO_OPTIONS,
) -> Spec:
    try:
        return Spec.model_validate(plain, context=context)
    except ValidationError as faults:
        raise SpecError.of(explain(faults, origin, options)) from None


def _reason(fault: OSError | UnicodeDecodeError) -> str:
    return fault.strerror or str(fault) if isinstance(fault, OSError) else "it is not UTF-8"


def changed(spec: Spec, options: Mapping[str, str] = _NO_OPTIONS, /, **changes: object) -> Spec:
    """Return `spec` with some fields replaced, after checking it again; None keeps the value of a
    field.

    The name `load__sessions` means the key `sessions` of the section `load`. A new value of one of
    the keys EXTENTS removes the other EXTENTS, because only one of them can limit the arrivals.
    `options` maps keys to options of the command line, which error messages then name instead of
    the keys.
    """
    plain = spec.plain()
    for field, value in changes.items():
        if value is None:
            continue
        section, _, key = field.partition("__")
        if not key:
            plain[section] = value
            continue
        if key in EXTENTS:
            plain[section] = {k: v for k, v in plain[section].items() if k not in EXTENTS}
        plain[section][key] = value
    return _validated(plain, CHANGES, options=options)


_SECTIONS: dict[str, type[Section]] = {
    "policy": PolicyChoice,
    "load": Load,
    "schedule": spec_sections.Stretch,
    "arrivals": spec_sections.Arrivals,
    "customers": Customers,
    "clients": Clients,
    "lengths": spec_sections.Lengths,
    "mixture": spec_sections.Class,
    "shared-cpus": spec_sections.SharedCpusServer,
    "fifo": FifoServerSection,
}
"""The class of each section, by the section's name in the location of a fault."""


def explain(
    faults: ValidationError, origin: str, options: Mapping[str, str] = _NO_OPTIONS
) -> list[Fault]:
    """Return Pydantic's findings as faults.

    The place of a fault is the origin with the key, or only the name that `options` has for the
    key. The keys of `options` have no positions in lists: `load.rho`, not `load.rho.1`.
    """
    from loadgen.workload.refusals import SessionModelError

    explained: list[Fault] = []
    found = faults.errors()
    places = [fault["loc"] for fault in found]
    deeper = {place[:depth] for place in places for depth in range(len(place))}
    for fault in found:
        if fault["loc"] in deeper:
            continue  # a list with wrong items also counts as too short
        if len(explained) == MOST_FAULTS:
            explained.append(Fault((origin,), f"… and {len(places) - MOST_FAULTS:,} more faults"))
            break
        place = [f"{part:.60}" for part in map(str, fault["loc"])]
        if place[:1] == ["server"] and place[1:2] in (["shared-cpus"], ["fifo"]):
            del place[1]  # Pydantic added the kind, which is not a key
        reason = fault["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
        named = allowed = ""
        given = fault["input"]
        shown = (
            "" if isinstance(given, dict | list | tuple | Section) else f" (given: {given!r:.60})"
        )
        match fault.get("ctx", {}).get("error"):  # of a check of a section
            case InvalidError(faults=(one,)):
                named, reason, allowed = one.field, one.reason, one.allowed
            case PolicyError() as error:
                named, reason, allowed = error.field, error.message, error.allowed
            case SessionModelError() as error:
                named, reason = error.field, error.message
        match fault["type"]:
            case "tuple_type":
                reason = "must be a list in brackets"
            case "unknown_kind":
                named, allowed = "kind", "'shared-cpus' or 'fifo'"
            case "extra_forbidden":
                section: type[Section] = Spec
                for part in fault["loc"][:-1]:
                    section = _SECTIONS.get(str(part), section)
                reason, allowed, shown = "unknown key", ", ".join(section.model_fields), ""
        if named and place[-1:] != [named]:
            place.append(named)
        if allowed:
            allowed += shown
        else:
            reason += shown
        key = ".".join(part for part in place if not part.isdecimal())
        where = (options[key],) if key in options else (origin, ".".join(place))
        explained.append(Fault(where, reason, allowed))
    return explained
