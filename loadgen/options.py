"""What the options of a run mean together.

Owns: which options contradict each other, and turning what was given into `RunOptions` or into one
line that names the option. Everything arrives as text, so that all ways in are refused alike.
Must not know: what is done with the options.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadgen.client_options import client_model, require_duration
from loadgen.clients import ClientModel
from loadgen.option_list import OPTIONS
from loadgen.option_models import chosen_model
from loadgen.option_text import (
    OptionError,
    account,
    mixture,
    number,
    readable,
    schedule,
    whole,
    writable,
)
from loadgen.partly_open import Partly
from loadgen.partly_open_options import PartlyOpen, partly_open
from loadgen.sessions import Customers, Schedule, SessionLengths, SessionModel, SessionModelError

_CLOSED_LOOP_MODEL: dict[str, Any] = {"timeout_s": math.inf, "think_time_mean_s": 0.0}
"""What is measured is the server: customers who never leave and never pause."""

_SESSIONS = 1000
"""How many sessions there are when nothing says when arrivals end."""

_MOST_SESSIONS = 10_000_000
"""A plan of more is a slip of the pen; counting them would take for ever."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """A capacity measurement; durations in paper seconds."""

    customers: int
    duration_s: float
    warm_up_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """Which share of the sessions: those whose index leaves `index` when divided by `of`."""

    index: int = 0
    of: int = 1

    def count(self, total: int) -> int:
        """How many of `total` sessions (or customers) are of this part."""
        return len(range(self.index, total, self.of))


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What one run shall do, validated."""

    model: SessionModel
    session_rate: float
    """Sessions per paper second; with a schedule that of its ρ = 1."""
    rho: float | None
    """None when `session_rate` was given, or when the schedule says the loads."""
    capacity_rps: float
    load_schedule: Schedule | None
    arrivals_until_s: float | None
    """When arrivals end, or clients make no more requests; paper seconds."""
    sessions: int
    """Those of the seed where schedule or `arrivals_until_s` end the arrivals; with clients 0."""
    seed: int
    time_scale: float
    closed_loop: ClosedLoop | None
    clients: ClientModel | None
    """Clients who are there until `arrivals_until_s`; what is said of sessions is then unused."""
    partly_open: PartlyOpen | None
    """eDragon's sessions; of what is said of other sessions their number and end alone are used."""
    authority: Path | None
    """Whom to trust over https; None: whom the system trusts."""
    load_factor_file: Path | None
    """Says how many times their rate sessions arrive; watched while they do."""
    start_file: Path | None
    """The run begins when it is there; None: at once."""
    late_tolerance_s: float
    attempts_file: Path | None
    account: str
    account_password: str
    progress_json: bool

    def customers(self) -> Customers:
        """The customers of this run, of all its parts."""
        return Customers(self.model, self.seed, self.session_rate, self.load_schedule)

    def part_of_plan(self, part: Part) -> int:
        """How many sessions (in a closed loop: customers or clients) are `part`'s."""
        if self.clients:
            return part.count(2 * self.clients.per_set)
        return part.count(self.closed_loop.customers if self.closed_loop else self.sessions)


def run_options(given: Mapping[str, object]) -> RunOptions:
    """The options of a run from `given`, keyed by `Option.dest`; what is missing has its default.

    Raises `OptionError`, naming the option, for every value that cannot be meant.
    """
    text = {option.dest: str(given.get(option.dest, option.default)).strip() for option in OPTIONS}
    kind = chosen_model(text)
    clients = client_model(text) if kind == "clients" else None
    partly = partly_open(text) if kind == "partly-open" else None
    closed_loop = _closed_loop(text)
    model = _model(text)
    if closed_loop:
        model = replace(model, **_CLOSED_LOOP_MODEL)
    capacity_rps = number(text, "capacity-rps", above=0)
    load_schedule = schedule(text["load_schedule"])
    session_rate, rho = _load(text, model, capacity_rps, load_schedule)
    until_s = number(text, "arrivals-until-s", above=0) if text["arrivals_until_s"] else None
    seed = whole(text, "seed", at_least=0)
    if clients:
        assert until_s is not None
        require_duration(clients, until_s)
        sessions = 0
    elif partly:
        until_s = partly.schedule.duration_s
        expected = partly.schedule.expected_sessions(1.0)
        arrivals = Partly(partly.model, seed).arrivals(partly.schedule)
        sessions = _counted(arrivals, expected, "sessions-schedule")
    else:
        sessions = _sessions(text, Customers(model, seed, session_rate, load_schedule), until_s)
    if text["progress"] not in ("none", "json"):
        raise OptionError("--progress", f"{text['progress']!r} is unknown; give none or json")
    return RunOptions(
        model=model,
        session_rate=session_rate,
        rho=rho,
        capacity_rps=capacity_rps,
        load_schedule=load_schedule,
        arrivals_until_s=until_s,
        sessions=sessions,
        seed=seed,
        time_scale=number(text, "time-scale", above=0),
        closed_loop=closed_loop,
        clients=clients,
        partly_open=partly,
        authority=readable("--authority", text["authority"]),
        load_factor_file=_load_factor_file(text, has_arrivals=not (clients or closed_loop)),
        start_file=Path(text["start_file"]) if text["start_file"] else None,
        late_tolerance_s=number(text, "late-tolerance-ms", above=0) / 1000,
        attempts_file=writable(text["attempts_file"], "--attempts-file"),
        account=account(text["account"]),
        account_password=text["account_password"],
        progress_json=text["progress"] == "json",
    )


def _model(text: dict[str, str]) -> SessionModel:
    # An endless patience is given by one option; its exponential part no longer matters.
    timeout_s = number(text, "timeout-s", at_least=0, finite=False)
    try:
        return SessionModel(
            timeout_s=timeout_s,
            think_timeout_mean_s=number(text, "think-timeout-mean-s", at_least=0),
            retry_probability=number(text, "retry-probability", at_least=0),
            max_retries=whole(text, "max-retries", at_least=0),
            think_time_mean_s=number(text, "think-time-mean-s", at_least=0),
            walks=text["walks"],  # type: ignore[arg-type]  # the model refuses anything else
            file_sessions=whole(text, "file-sessions", at_least=1),
            lengths=_lengths(text),
        )
    except SessionModelError as error:
        flag = "--" + error.field.replace("_", "-")
        raise OptionError(flag, str(error).partition(": ")[2]) from None


def _lengths(text: dict[str, str]) -> SessionLengths | None:
    kind, classes = text["session_length_kind"], mixture(text["session_mixture"])
    if not (text["session_length_mean"] or classes):
        if kind != "geometric":
            raise OptionError(
                "--session-length-kind",
                f"{kind!r} says nothing without --session-length-mean or --session-mixture",
            )
        return None
    if text["session_length_mean"] and classes:
        raise OptionError(
            "--session-mixture", "give either --session-length-mean or --session-mixture, not both"
        )
    if text["walks"] == "chance":
        raise OptionError("--walks", "sessions of given lengths walk no chain; leave --walks out")
    mean = number(text, "session-length-mean", above=0) if text["session_length_mean"] else None
    try:
        return SessionLengths(
            kind,  # type: ignore[arg-type]  # the model refuses anything else
            mean,
            classes,
        )
    except SessionModelError as error:
        flags = {
            "kind": "--session-length-kind",
            "mean": "--session-length-mean",
            "mixture": "--session-mixture",
        }
        name, _, within = error.field.partition(".")
        message = str(error).partition(": ")[2]
        raise OptionError(flags[name], f"{within}: {message}" if within else message) from None


def _load(
    text: dict[str, str],
    model: SessionModel,
    capacity_rps: float,
    load_schedule: Schedule | None,
) -> tuple[float, float | None]:
    """Sessions per paper second, and the ρ they come from, if they do."""
    if text["session_rate"]:
        if text["rho"]:
            raise OptionError("--rho", "give either --rho or --session-rate, not both")
        return number(text, "session-rate", above=0), None
    if load_schedule is None:
        rho = number(text | {"rho": text["rho"] or "0.85"}, "rho", above=0)
        return model.session_rate(rho, capacity_rps), rho
    # Whoever passes on a spec says --rho 1 with a schedule, which is what it means.
    if text["rho"] and number(text, "rho", above=0) != 1:
        raise OptionError("--rho", "--load-schedule says the loads; leave --rho out, or give 1")
    return model.session_rate(1.0, capacity_rps), None


def _load_factor_file(text: dict[str, str], *, has_arrivals: bool) -> Path | None:
    if text["load_factor_file"] and not has_arrivals:
        raise OptionError("--load-factor-file", "a closed loop has no arrivals; leave it out")
    return writable(text["load_factor_file"], "--load-factor-file")


def _sessions(text: dict[str, str], customers: Customers, until_s: float | None) -> int:
    """How many sessions the run has; whoever ends the arrivals is the only one to."""
    ends = [
        name
        for name in ("load-schedule", "arrivals-until-s", "sessions")
        if text[name.replace("-", "_")]
    ]
    if len(ends) > 1:
        raise OptionError(
            f"--{ends[1]}", f"give either --{ends[0]} or --{ends[1]}; each ends the arrivals"
        )
    if ends in ([], ["sessions"]):
        return whole(text | {"sessions": text["sessions"] or str(_SESSIONS)}, "sessions", 1)
    if whole(text, "closed-loop-customers", at_least=0):
        raise OptionError(f"--{ends[0]}", "a closed loop has no arrivals; leave it out")
    if customers.schedule is not None:
        expected = customers.schedule.expected_sessions(customers.session_rate)
    else:
        assert until_s is not None
        expected = customers.session_rate * until_s
    arrivals = customers.arrivals(math.inf if until_s is None else until_s)
    return _counted(arrivals, expected, ends[0])


def _counted(arrivals: Iterable[float], expected: float, name: str) -> int:
    """How many arrive; `expected` on average, as option `name` says."""
    if expected > _MOST_SESSIONS:
        raise OptionError(
            f"--{name}", f"about {expected:.3g} sessions; at most {_MOST_SESSIONS} are planned"
        )
    found = sum(1 for _ in arrivals)
    if not found:
        raise OptionError(f"--{name}", "no session arrives in so short a time; give more")
    return found


def _closed_loop(text: dict[str, str]) -> ClosedLoop | None:
    customers = whole(text, "closed-loop-customers", at_least=0)
    duration_s = number(text, "closed-loop-duration", above=0)
    warm_up_s = number(text, "closed-loop-warm-up", at_least=0)
    return ClosedLoop(customers, duration_s, warm_up_s) if customers else None
