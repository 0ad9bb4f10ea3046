"""The load generator's options: on the command line, in the environment, in Locust's web UI.

Owns: their names, defaults and meaning, and turning what was given into `RunOptions` or into one
line that names the option. Everything arrives as text, so that the three ways in are refused alike.
Must not know: what is done with the options.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from loadgen.sessions import SessionModel, SessionModelError

ENVIRONMENT_PREFIX = "DOORBUSTER_LOAD_"


_CLOSED_LOOP_MODEL: dict[str, Any] = {"timeout_s": math.inf, "think_time_mean_s": 0.0}
"""What is measured is the server: customers who never leave and never pause."""


class OptionError(ValueError):
    """An option that is refused: one line that names it and says the mend."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `--name`, its environment variable, its default as text, what it means."""

    name: str
    metavar: str
    default: str
    meaning: str
    in_web_ui: bool = True

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def dest(self) -> str:
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.dest.upper()


OPTIONS: tuple[Option, ...] = (
    Option("session-rate", "RATE", "", "sessions per paper second; instead of --rho"),
    Option("rho", "RHO", "", "offered load ρ; 0.85 when --session-rate is not given either"),
    Option("capacity-rps", "RPS", "5.6", "requests per paper second at ρ = 1, for --rho"),
    Option("sessions", "N", "1000", "sessions to start, all workers together"),
    Option("seed", "SEED", "1", "the same seed gives the same arrivals, walks and patience"),
    Option("time-scale", "SCALE", "10", "paper seconds per real second"),
    Option("timeout-s", "S", "8", "the part of a patience that all share, paper s; inf: for ever"),
    Option("think-timeout-mean-s", "S", "12", "mean of its exponential part, paper s"),
    Option("retry-probability", "P", "0.4", "a timed-out request is sent again with this"),
    Option("max-retries", "M", "5", "at most this many retries per request"),
    Option("think-time-mean-s", "S", "0", "mean pause between pages, exponential, paper s"),
    Option("walks", "quota|chance", "quota", "a session file cycled, or independent walks"),
    Option("file-sessions", "N", "1000", "length of the session file"),
    Option(
        "closed-loop-customers",
        "N",
        "0",
        "measure capacity: N customers, one session after another, who never leave; 0: open loop",
    ),
    Option("closed-loop-duration", "S", "120", "length of the measurement, paper s"),
    Option("closed-loop-warm-up", "S", "30", "left out before it, paper s"),
    Option("late-tolerance-ms", "MS", "50", "an attempt this late (real ms) fell behind"),
    Option(
        "attempts-file",
        "PATH",
        "attempts.parquet",
        "where every attempt is logged; empty: nowhere",
        in_web_ui=False,
    ),
    Option("account", "FORMAT", "customer-%04d", "the shop's accounts", in_web_ui=False),
    Option("account-password", "WORD", "doorbuster-2005", "their password", in_web_ui=False),
    Option(
        "progress",
        "none|json",
        "none",
        "json: one line on standard output per second",
        in_web_ui=False,
    ),
)


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
    rho: float | None
    capacity_rps: float
    sessions: int
    seed: int
    time_scale: float
    closed_loop: ClosedLoop | None
    late_tolerance_s: float
    attempts_file: Path | None
    account: str
    account_password: str
    progress_json: bool

    def part_of_plan(self, part: Part) -> int:
        """How many sessions (in a closed loop: customers) are `part`'s."""
        return part.count(self.closed_loop.customers if self.closed_loop else self.sessions)


class Parser(Protocol):
    """What Locust hands to `init_command_line_parser`."""

    def add_argument(self, *names: str, **how: Any) -> Any: ...


def add_options(parser: Parser) -> None:
    """Adds all options to Locust's command line, environment and web UI."""
    for option in OPTIONS:
        parser.add_argument(
            option.flag,
            metavar=option.metavar,
            default=option.default,
            env_var=option.variable,
            help=option.meaning.replace("%", "%%"),
            include_in_web_ui=option.in_web_ui,
        )


def run_options(given: Mapping[str, object]) -> RunOptions:
    """The options of a run from `given`, keyed by `Option.dest`; what is missing has its default.

    Raises `OptionError`, naming the option, for every value that cannot be meant.
    """
    text = {option.dest: str(given.get(option.dest, option.default)).strip() for option in OPTIONS}
    model = _model(text)
    capacity_rps = _number(text, "capacity-rps", above=0)
    rho: float | None = None
    if text["session_rate"]:
        if text["rho"]:
            raise OptionError("--rho", "give either --rho or --session-rate, not both")
        session_rate = _number(text, "session-rate", above=0)
    else:
        rho = _number(text | {"rho": text["rho"] or "0.85"}, "rho", above=0)
        session_rate = model.session_rate(rho, capacity_rps)
    closed_loop = _closed_loop(text)
    if text["progress"] not in ("none", "json"):
        raise OptionError("--progress", f"{text['progress']!r} is unknown; give none or json")
    return RunOptions(
        model=replace(model, **_CLOSED_LOOP_MODEL) if closed_loop else model,
        session_rate=session_rate,
        rho=rho,
        capacity_rps=capacity_rps,
        sessions=_whole(text, "sessions", at_least=1),
        seed=_whole(text, "seed", at_least=0),
        time_scale=_number(text, "time-scale", above=0),
        closed_loop=closed_loop,
        late_tolerance_s=_number(text, "late-tolerance-ms", above=0) / 1000,
        attempts_file=_writable(text["attempts_file"]),
        account=_account(text["account"]),
        account_password=text["account_password"],
        progress_json=text["progress"] == "json",
    )


def _model(text: Mapping[str, str]) -> SessionModel:
    # An endless patience is given by one option; its exponential part no longer matters.
    timeout_s = _number(text, "timeout-s", at_least=0, finite=False)
    try:
        return SessionModel(
            timeout_s=timeout_s,
            think_timeout_mean_s=_number(text, "think-timeout-mean-s", at_least=0),
            retry_probability=_number(text, "retry-probability", at_least=0),
            max_retries=_whole(text, "max-retries", at_least=0),
            think_time_mean_s=_number(text, "think-time-mean-s", at_least=0),
            walks=text["walks"],  # type: ignore[arg-type]  # the model refuses anything else
            file_sessions=_whole(text, "file-sessions", at_least=1),
        )
    except SessionModelError as error:
        flag = "--" + error.field.replace("_", "-")
        raise OptionError(flag, str(error).partition(": ")[2]) from None


def _closed_loop(text: Mapping[str, str]) -> ClosedLoop | None:
    customers = _whole(text, "closed-loop-customers", at_least=0)
    duration_s = _number(text, "closed-loop-duration", above=0)
    warm_up_s = _number(text, "closed-loop-warm-up", at_least=0)
    return ClosedLoop(customers, duration_s, warm_up_s) if customers else None


def _number(
    text: Mapping[str, str],
    name: str,
    above: float | None = None,
    at_least: float | None = None,
    finite: bool = True,
) -> float:
    given = text[name.replace("-", "_")]
    try:
        value = float(given)
    except ValueError:
        raise OptionError(f"--{name}", f"{given!r} is no number") from None
    low = above is not None and value <= above
    low = low or (at_least is not None and value < at_least)
    if low or math.isnan(value) or (finite and math.isinf(value)):
        bound = f"above {above:g}" if above is not None else f"of at least {at_least:g}"
        raise OptionError(f"--{name}", f"{given} is out of range; give a number {bound}")
    return value


def _whole(text: Mapping[str, str], name: str, at_least: int) -> int:
    given = text[name.replace("-", "_")]
    try:
        value = int(given)
    except ValueError:
        raise OptionError(f"--{name}", f"{given!r} is no whole number") from None
    if value < at_least:
        raise OptionError(f"--{name}", f"{given} is out of range; give {at_least} or more")
    return value


def _writable(given: str) -> Path | None:
    if not given:
        return None
    path = Path(given)
    if not path.parent.is_dir():
        raise OptionError("--attempts-file", f"there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise OptionError("--attempts-file", f"{path} is a folder; give a file name in it")
    return path


def _account(given: str) -> str:
    try:
        given % 1
    except (TypeError, ValueError):
        raise OptionError("--account", f"{given!r} has no place for a number, e.g. %04d") from None
    return given
