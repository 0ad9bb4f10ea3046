"""The load generator's options: on the command line, in the environment, in Locust's web UI.

Owns: their names, defaults and meaning. Must not know: what values are refused, what is done with
them.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

ENVIRONMENT_PREFIX = "DOORBUSTER_LOAD_"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `--name`, its environment variable, its default as text, what it means."""

    name: str
    metavar: str
    default: str
    meaning: str
    in_web_ui: bool = True
    is_flag: bool = False
    model: str = ""
    """Which of the models it is for: `sessions`, `clients` or `partly-open`; empty: all."""

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def dest(self) -> str:
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.dest.upper()


def _of(model: str, *options: Option) -> tuple[Option, ...]:
    """The options of one model."""
    return tuple(replace(option, model=model) for option in options)


OPTIONS: tuple[Option, ...] = (
    *_of(
        "sessions",
        Option("session-rate", "RATE", "", "sessions per paper second; instead of --rho"),
        Option("rho", "RHO", "", "offered load ρ; 0.85 when --session-rate is not given either"),
        Option("capacity-rps", "RPS", "5.6", "requests per paper second at ρ = 1, for --rho"),
        Option(
            "load-schedule",
            "S:RHO,…",
            "",
            "loads one after another, e.g. 50:1.0,50:1.5: 50 paper s at ρ = 1, then 50 at 1.5; "
            "instead of --rho and --sessions",
        ),
        Option(
            "sessions",
            "N",
            "",
            "sessions to start, all workers together; 1000 when nothing ends arrivals",
        ),
    ),
    Option(
        "arrivals-until-s",
        "S",
        "",
        "sessions arrive, or clients make requests, for so many paper s; instead of --sessions",
    ),
    Option("seed", "SEED", "1", "the same seed gives the same arrivals, walks and patience"),
    Option("time-scale", "SCALE", "10", "paper seconds per real second"),
    *_of(
        "sessions",
        Option(
            "timeout-s", "S", "8", "the part of a patience that all share, paper s; inf: for ever"
        ),
        Option("think-timeout-mean-s", "S", "12", "mean of its exponential part, paper s"),
        Option("retry-probability", "P", "0.4", "a timed-out request is sent again with this"),
        Option("max-retries", "M", "5", "at most this many retries per request"),
        Option("think-time-mean-s", "S", "0", "mean pause between pages, exponential, paper s"),
        Option("walks", "quota|chance", "quota", "a session file cycled, or independent walks"),
        Option("file-sessions", "N", "1000", "length of the session file"),
        Option(
            "session-length-mean",
            "N",
            "",
            "SBAC's sessions: Br-1, then Br-2 and Br-4 in turn, this many requests on average",
        ),
        Option(
            "session-length-kind",
            "geometric|exponential",
            "geometric",
            "distribution of session lengths; exponential is rounded, at least 1",
        ),
        Option(
            "session-mixture",
            "NAME:SHARE:MEAN,…",
            "",
            "classes of session lengths, e.g. sales:0.183:73.6,non-sales:0.817:28.2; instead of "
            "--session-length-mean",
        ),
        Option(
            "closed-loop-customers",
            "N",
            "0",
            "measure capacity: N customers, one session after another, who never leave; 0: open "
            "loop",
        ),
        Option("closed-loop-duration", "S", "120", "length of the measurement, paper s"),
        Option("closed-loop-warm-up", "S", "30", "left out before it, paper s"),
    ),
    Option(
        "clients-per-set",
        "N",
        "",
        "the Connection Sentry's closed loop instead of sessions: N clients who never leave and N "
        "who do, for --arrivals-until-s",
    ),
    *_of(
        "clients",
        Option("patience-max-s", "S", "7.5", "their patience is uniform up to this, paper s"),
        Option(
            "client-think-time-mean-s",
            "S",
            "3.5",
            "mean pause of a client before a request, exponential, paper s",
        ),
        Option("reload-probability", "P", "0.75", "a client who left reloads at once with this"),
        Option(
            "away-mean-s", "S", "15", "otherwise it is away for this mean, exponential, paper s"
        ),
        Option(
            "client-mix",
            "KIND:WEIGHT,…",
            "home:25,browse:1,search:17,select:3,file:54",
            "what clients ask for",
        ),
    ),
    Option(
        "partly-open",
        "",
        "false",
        "eDragon's sessions instead: interactions over one connection",
        is_flag=True,
    ),
    *_of(
        "partly-open",
        Option(
            "sessions-schedule",
            "S:RATE,…",
            "",
            "from paper s S on, so many new sessions per paper second, e.g. 0:3.5,600:0.75; until "
            "--arrivals-until-s, or a rate of 0 at the end",
        ),
        Option(
            "stop-s",
            "S",
            "",
            "sessions under way are cut off at this paper s; without it they are waited for",
        ),
        Option("interactions-mean", "N", "50", "interactions of a session on average"),
        Option("interactions-most", "N", "100", "and at most"),
        Option(
            "interaction-think-time-mean-s",
            "S",
            "7",
            "mean pause between interactions, exponential, paper s",
        ),
        Option(
            "interaction-timeout-s",
            "S",
            "10",
            "a reply is waited for so long, handshake included, paper s; inf: for ever",
        ),
        Option(
            "reconnects",
            "N",
            "1",
            "after a timeout it is asked for again over a new connection, at most so often",
        ),
        Option("images-mean", "N", "1.4", "images fetched after each page, on average"),
        Option(
            "transactions-ratio",
            "RATIO",
            "0.15",
            "share of transaction pages in an endless session, 0 to 4/7",
        ),
    ),
    Option(
        "authority",
        "PATH",
        "",
        "PEM file of the certificates to trust over https; without it the system's",
        in_web_ui=False,
    ),
    Option(
        "load-factor-file",
        "PATH",
        "",
        "watched while sessions arrive: from when it says a number, 0 to 10, on, they arrive at so "
        "many times their rate",
        in_web_ui=False,
    ),
    Option(
        "start-file",
        "PATH",
        "",
        "the run begins when this file is there: several load generators begin together",
        in_web_ui=False,
    ),
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


class Parser(Protocol):
    """What Locust hands to `init_command_line_parser`."""

    def add_argument(self, *names: str, **how: Any) -> Any: ...


def add_options(parser: Parser) -> None:
    """Adds all options to Locust's command line, environment and web UI."""
    for option in OPTIONS:
        how: dict[str, Any] = {"metavar": option.metavar, "default": option.default}
        if option.is_flag:
            how = {"action": "store_true", "default": False}
        parser.add_argument(
            option.flag,
            **how,
            env_var=option.variable,
            help=option.meaning.replace("%", "%%"),
            include_in_web_ui=option.in_web_ui,
        )
