"""The load generator's options, set by arguments, environment variables or Locust's web UI."""

import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from common import hosts, seeded_shop
from common.settings import SettingsModel, read
from common.shared_settings import GatewayHost, GatewayPort
from loadgen.plan import RHO, SESSIONS, LoadPlan, PlanError
from loadgen.workload.load_schedule import RateStep
from loadgen.workload.sessions import Schedule, Segment

ENVIRONMENT_PREFIX = "DOORBUSTER_LOAD_"
_NOT_IN_WEB_UI = ("authority", "load-factor-file", "start-file", "attempts-file", "account",
    "account-password", "progress", "plan")  # fmt: skip


class OptionError(ValueError):
    """The error for an invalid option; the message is one line with the option and the allowed
    values.
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option


# ---- values in text; every reader raises ValueError ----------------------------------------------

Reader = Callable[[str], Any]


def _path(given: str) -> Path | None:
    return Path(given) if given else None


def _number(
    *, above: float | None = None, at_least: float = 0, finite: bool = True, per: float = 1
) -> Reader:
    bound = f"of at least {at_least:g}" if above is None else f"above {above:g}"

    def read(given: str) -> float:
        try:
            value = float(given)
        except ValueError:
            raise ValueError(f"{given!r} is not a number") from None
        low = value < at_least if above is None else value <= above
        if low or math.isnan(value) or (finite and math.isinf(value)):
            raise ValueError(f"{given} is out of range; give a number {bound}")
        return value / per

    return read


def _whole(at_least: int) -> Reader:
    def read(given: str) -> int:
        try:
            value = int(given)
        except ValueError:
            raise ValueError(f"{given!r} is not a whole number") from None
        if value < at_least:
            raise ValueError(f"{given} is out of range; give {at_least} or more")
        return value

    return read


def _flag(given: str) -> bool:
    # The spellings of flags in Locust's command line, environment and web UI.
    if given.lower() in ("true", "yes", "on", "1"):
        return True
    if given.lower() in ("false", "no", "off", "0", ""):
        return False
    raise ValueError(f"{given.lower()!r} is invalid; give true or false")


def _listed(given: str, kinds: Sequence[Callable[[str], Any]], what: str) -> list[tuple[Any, ...]]:
    """Read entries such as `home:25`, whose values have these kinds; `what` describes an entry."""
    found = []
    for part in given.split(","):
        values = [value.strip() for value in part.split(":")]
        try:
            found.append(tuple(kind(value) for kind, value in zip(kinds, values, strict=True)))
        except ValueError:
            raise ValueError(f"{part.strip()!r} is not a {what}") from None
    return found


def _loads(given: str) -> Schedule:
    what = "segment; give seconds:load, e.g. 50:1.0,50:1.5"
    return Schedule(tuple(Segment(*pair) for pair in _listed(given, (float, float), what)))


def _rates(given: str) -> tuple[RateStep, ...]:
    what = "step; give second:rate, e.g. 0:3.5,600:0.75"
    return tuple(RateStep(*pair) for pair in _listed(given, (float, float), what))


def _weights(given: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind, weight in _listed(given, (str, float), "weight; give kind:weight, e.g. home:25"):
        if kind in found:
            raise ValueError(f"{kind!r} is given twice; give each kind once")
        found[kind] = weight
    return found


def _mixture(given: str) -> list[dict[str, Any]]:
    what = "class; give name:share:mean, e.g. sales:0.183:73.6,non-sales:0.817:28.2"
    names = ("name", "share", "mean")
    return [dict(zip(names, one, strict=True)) for one in _listed(given, (str, float, float), what)]


# ---- the options ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """An option `--name`, with its default as text and the plan's field that it sets."""

    name: str
    metavar: str
    """The name of the value in the help text; empty if the option takes no value."""
    default: str
    read: Reader
    meaning: str
    field: str = ""
    """The plan's field that the option sets; if empty, the option's name with underscores."""
    model: str = ""
    """The customer model to which the option applies: `sessions`, `clients` or `partly-open`; empty
    if it applies to all."""

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def dest(self) -> str:
        return self.name.replace("-", "_")

    @property
    def is_flag(self) -> bool:
        return self.read is _flag

    @property
    def in_web_ui(self) -> bool:
        """Whether Locust's web UI may set the option; False for files, accounts and output."""
        return self.name not in _NOT_IN_WEB_UI

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.dest.upper()


def _of(model: str, place: str, *options: Option) -> tuple[Option, ...]:
    """Return the options of one model; their fields are below the plan's field `place`."""
    return tuple(
        replace(one, model=model, field=f"{place}.{one.field or one.dest}") for one in options
    )


_positive, _zero_or_more = _number(above=0), _number(at_least=0)
_patience = _number(at_least=0, finite=False)

# fmt: off
OPTIONS: tuple[Option, ...] = (
    *_of("sessions", "load",
        Option("session-rate", "RATE", "", _positive,
            "sessions per paper second; instead of --rho"),
        Option("rho", "RHO", "", _positive,
            "offered load ρ; 0.85 by default, unless --session-rate or --load-schedule is given"),
        Option("capacity-rps", "RPS", "5.6", _positive,
            "requests per paper second at ρ = 1, for --rho and --load-schedule"),
        Option("load-schedule", "S:RHO,…", "", _loads,
            "loads one after another, instead of --rho and --sessions; e.g. 50:1.0,50:1.5 means 50 "
            "paper s at ρ = 1, then 50 paper s at ρ = 1.5", field="schedule"),
        Option("sessions", "N", "", _whole(1),
            "number of sessions of all workers together; 1000 if no other option ends arrivals",
            field="count")),
    Option("arrivals-until-s", "S", "", _positive,
        "time for which sessions arrive or clients send requests, paper s; instead of --sessions",
        field="load.until_s"),
    Option("seed", "SEED", "1", _whole(0),
        "seed of the random numbers: the same seed gives the same arrivals, pages and patience"),
    Option("time-scale", "SCALE", "10", _positive, "paper seconds per real second"),
    *_of("sessions", "load.model",
        Option("timeout-s", "S", "8", _patience,
            "constant part of every patience, paper s; with inf, customers never leave"),
        Option("think-timeout-mean-s", "S", "12", _zero_or_more,
            "mean of the exponential part of a patience, paper s"),
        Option("retry-probability", "P", "0.4", _zero_or_more,
            "probability that a timed-out request is sent again"),
        Option("max-retries", "M", "5", _whole(0), "maximum number of retries per request"),
        Option("think-time-mean-s", "S", "0", _zero_or_more,
            "mean of the exponential pause between pages, paper s"),
        Option("walks", "quota|chance", "quota", str,
            "how sessions get their pages; quota: from a session file that repeats; chance: each "
            "session's pages are drawn independently"),
        Option("file-sessions", "N", "1000", _whole(1), "number of sessions in the session file")),
    *_of("sessions", "load.model.lengths",
        Option("session-length-mean", "N", "", _positive,
            "mean number of requests in SBAC's sessions, which request Br-1, then alternately "
            "Br-2 and Br-4",
            field="mean"),
        Option("session-length-kind", "geometric|exponential", "geometric", str,
            "distribution of session lengths; an exponential length is rounded to a whole "
            "number, at least 1",
            field="kind"),
        Option("session-mixture", "NAME:SHARE:MEAN,…", "", _mixture,
            "classes of sessions, instead of --session-length-mean: name, share and mean length, "
            "e.g. sales:0.183:73.6,non-sales:0.817:28.2", field="mixture")),
    *_of("sessions", "load",
        Option("closed-loop-customers", "N", "0", _whole(0),
            "number of customers in a capacity measurement, who never leave and play one session "
            "after another; 0: open loop", field="customers"),
        Option("closed-loop-duration", "S", "120", _positive,
            "duration of the capacity measurement, paper s", field="duration_s"),
        Option("closed-loop-warm-up", "S", "30", _zero_or_more,
            "time before the capacity measurement begins, paper s", field="warm_up_s")),
    Option("clients-per-set", "N", "", _whole(1),
        "number N of clients in each set of the Connection Sentry's closed loop, which replaces "
        "the sessions: N clients never leave, and N clients can leave; all clients send requests "
        "until --arrivals-until-s", field="load.model.per_set"),
    *_of("clients", "load.model",
        Option("patience-max-s", "S", "7.5", _positive,
            "maximum patience of clients that can leave, paper s; the patience is uniform between "
            "0 and this value"),
        Option("client-think-time-mean-s", "S", "3.5", _positive,
            "mean of a client's exponential pause before a request, paper s",
            field="think_time_mean_s"),
        Option("reload-probability", "P", "0.75", _zero_or_more,
            "probability that a client that has left reloads at once"),
        Option("away-mean-s", "S", "15", _zero_or_more,
            "mean of the exponential time for which a client that does not reload stays away, "
            "paper s"),
        Option("client-mix", "KIND:WEIGHT,…", "home:25,browse:1,search:17,select:3,file:54",
            _weights, "weights of the kinds of requests", field="mix")),
    Option("partly-open", "", "false", _flag,
        "eDragon's sessions instead of LIFO-Pri's: several interactions over one connection",
        field="load.kind"),
    *_of("partly-open", "load",
        Option("sessions-schedule", "S:RATE,…", "", _rates,
            "steps S:RATE; from paper second S on, RATE new sessions arrive per paper second, e.g. "
            "0:3.5,600:0.75; arrivals end at --arrivals-until-s, or at a last step with rate 0",
            field="steps"),
        Option("stop-s", "S", "", _positive,
            "paper second at which sessions in progress are cut off; by default, the run waits "
            "for their end")),
    *_of("partly-open", "load.model",
        Option("interactions-mean", "N", "50", _number(at_least=1),
            "mean number of interactions in a session"),
        Option("interactions-most", "N", "100", _whole(1),
            "maximum number of interactions in a session"),
        Option("interaction-think-time-mean-s", "S", "7", _zero_or_more,
            "mean of the exponential pause between interactions, paper s",
            field="think_time_mean_s"),
        Option("interaction-timeout-s", "S", "10", _number(above=0, finite=False),
            "longest wait for a reply, including the handshake, paper s; inf means no limit",
            field="timeout_s"),
        Option("reconnects", "N", "1", _whole(0),
            "maximum number of repetitions of a request after timeouts, each over a new "
            "connection"),
        Option("images-mean", "N", "1.4", _zero_or_more,
            "mean number of images fetched after each page with covers"),
        Option("transactions-ratio", "RATIO", "0.15", _zero_or_more,
            "share of transaction pages among the interactions of an endless session, 0 to 4/7")),
    Option("authority", "PATH", "", _path,
        "PEM file with the trusted certificates for https; by default, the certificates that "
        "the system trusts"),
    Option("load-factor-file", "PATH", "", _path,
        "file with a factor for the arrival rate, 0 to 10; it is read repeatedly while sessions "
        "arrive"),
    Option("start-file", "PATH", "", _path,
        "file that must exist before the run begins, so that several load generators can begin "
        "together"),
    Option("late-tolerance-ms", "MS", "50", _number(above=0, per=1000),
        "lag above which an attempt counts as behind schedule, real ms", field="late_tolerance_s"),
    Option("attempts-file", "PATH", "attempts.parquet", _path,
        "file for the log of all attempts; if empty, no file is written"),
    Option("account", "FORMAT", seeded_shop.ACCOUNT_NAME, str,
        "format of the names of the shop's accounts"),
    Option("account-password", "WORD", seeded_shop.PASSWORD, str,
        "password of the shop's accounts"),
    Option("progress", "none|json", "none", str,
        "json: one line of progress per second on standard output"),
    Option("plan", "FILE", "", _path,
        "JSON file with all these values (a LoadPlan), instead of other options; - means "
        "standard input"),
)
# fmt: on


# ---- the plan ------------------------------------------------------------------------------------

_CHOSEN_BY = {"clients": "--clients-per-set", "partly-open": "--partly-open"}
_INSTEAD = {
    "clients": "clients form a closed loop; omit this option or --clients-per-set",
    "partly-open": "--partly-open uses eDragon's sessions; omit this option or --partly-open",
}


def plan_of(given: Mapping[str, object]) -> LoadPlan:
    """Return the plan that `given` describes. The keys are values of `Option.dest`, and missing
    options have their defaults. If a value is invalid, raise OptionError, which names the option.
    """
    text = {option.dest: str(given.get(option.dest, option.default)).strip() for option in OPTIONS}
    if text["plan"]:
        return _plan_in_file(text)
    model = _chosen_model(text)
    plain: dict[str, Any] = {"load": {"kind": model}}
    for option in OPTIONS:
        value = _read(option, text)
        if value is not None and option.model in ("", model) and option.field != "load.kind":
            *above, last = (option.field or option.dest).split(".")
            place = plain
            for name in above:
                place = place.setdefault(name, {})
            place[last] = value
    _refuse((text["progress"] not in ("none", "json"), "--progress",
        f"{text['progress']!r} is unknown; give none or json"))  # fmt: skip
    complete = {"sessions": _sessions, "clients": _clients, "partly-open": _partly_open}[model]
    complete(plain["load"])
    return _playable(plain, model)


def plan_of_master(plain: Mapping[str, Any]) -> LoadPlan:
    """Return the plan that a master has sent to this worker. Raises OptionError if it is invalid
    here.
    """
    return _playable(plain, plain["load"]["kind"].replace("closed-loop", "sessions"))


def _playable(plain: Any, model: str) -> LoadPlan:
    try:
        plan = LoadPlan.of_json(plain)
        plan.require_playable()
    except PlanError as error:
        for option in OPTIONS if model else ():
            field = option.field or option.dest
            if option.model in ("", model) and f"{error.field}.".startswith(f"{field}."):
                within = error.field[len(field) + 1 :]
                named = f"{within}: " if within and not within[0].isdigit() else ""
                raise OptionError(option.flag, named + error.message) from None
        raise OptionError("--plan", str(error)) from None
    return plan


def _plan_in_file(text: Mapping[str, str]) -> LoadPlan:
    for option in OPTIONS:
        if option.name != "plan" and _is_given(text, option):
            raise OptionError(option.flag, "--plan sets all values; omit this option or --plan")
    try:
        plain = json.loads(_content(text["plan"]))
    except OSError as error:
        raise OptionError("--plan", f"{text['plan']}: {error.strerror or error}") from None
    except ValueError as error:
        raise OptionError("--plan", f"{text['plan']} is not JSON: {error}") from None
    return _playable(plain, "")


@cache
def _content(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")


def _read(option: Option, text: Mapping[str, str]) -> Any:
    given = text[option.dest]
    if not given and not option.default:
        return None
    try:
        return option.read(given)
    except ValueError as error:
        raise OptionError(option.flag, str(error)) from None


def _chosen_model(text: Mapping[str, str]) -> str:
    is_partly_open = any(_read(option, text) for option in OPTIONS if option.is_flag)
    model = "clients" if text["clients_per_set"] else "sessions"
    both = "give either --partly-open or --clients-per-set, not both"
    _refuse((is_partly_open and model == "clients", "--partly-open", both))
    if is_partly_open:
        model = "partly-open"
    for option in OPTIONS:
        if option.model and option.model != model and _is_given(text, option):
            chosen_by = _CHOSEN_BY.get(option.model)
            message = f"has no effect without {chosen_by}" if chosen_by else _INSTEAD[model]
            raise OptionError(option.flag, message)
    return model


def _is_given(text: Mapping[str, str], option: Option) -> bool:
    given = text[option.dest]
    if option.is_flag:
        return bool(_read(option, text))
    try:
        return given != option.default and float(given) != float(option.default)
    except ValueError:
        return True


def _refuse(*checks: tuple[bool, str, str]) -> None:
    for is_wrong, flag, message in checks:
        if is_wrong:
            raise OptionError(flag, message)


def _sessions(load: dict[str, Any]) -> None:
    model, lengths = load["model"], load["model"].pop("lengths")
    kind, has_lengths = lengths["kind"], len(lengths) > 1
    flags = {"schedule": "--load-schedule", "until_s": "--arrivals-until-s", "count": "--sessions"}
    end, other, *_ = [*(flag for field, flag in flags.items() if field in load), "", ""]
    _refuse(
        (len(lengths) > 2, "--session-mixture",
            "give either --session-length-mean or --session-mixture, not both"),
        (has_lengths and model["walks"] == "chance", "--walks",
            "sessions of given lengths do not use the chain; omit --walks"),
        (not has_lengths and kind != "geometric", "--session-length-kind",
            f"{kind!r} has no effect without --session-length-mean or --session-mixture"),
        (bool(other), other, f"give either {end} or {other}; each ends the arrivals"),
        ("rho" in load and "session_rate" in load, "--rho",
            "give either --rho or --session-rate, not both"),
        ("schedule" in load and load.pop("rho", 1) != 1, "--rho",
            "--load-schedule sets the loads; omit --rho, or give 1"),
        (load["customers"] > 0 and end not in ("", "--sessions"), end,
            "a closed loop has no arrivals; omit this option"),
    )  # fmt: skip
    if has_lengths:
        model["lengths"] = lengths
    closed_loop = {name: load.pop(name) for name in ("customers", "duration_s", "warm_up_s")}
    if closed_loop["customers"]:
        load.clear()
        load.update(closed_loop, model=model, kind="closed-loop")
        return
    if not end:
        load["count"] = SESSIONS
    if "schedule" not in load and "session_rate" not in load:
        load.setdefault("rho", RHO)


def _clients(load: dict[str, Any]) -> None:
    missing = "is missing; it sets the time for which the clients send requests"
    _refuse(("until_s" not in load, "--arrivals-until-s", missing))


def _partly_open(load: dict[str, Any]) -> None:
    steps = load.get("steps", ())
    ends = "until_s" in load or (len(steps) > 1 and steps[-1].sessions_ps == 0)
    _refuse(
        (not steps, "--sessions-schedule", "is missing; give second:rate, e.g. 0:3.5,600:0.75"),
        (not ends, "--arrivals-until-s",
            "is missing; give the time at which arrivals end, or end --sessions-schedule with "
            "rate 0, e.g. 0:3.5,600:0"),
    )  # fmt: skip


class GatewayAddress(SettingsModel):
    """The environment variables of the gateway's address (docs/settings.md)."""

    gateway_host: GatewayHost
    gateway_port: GatewayPort


def gateway_url() -> str:
    """Return the gateway's URL without TLS. Raises SettingsError if a setting is invalid."""
    address = read(GatewayAddress, os.environ)
    return f"http://{hosts.authority(address.gateway_host or hosts.LOOPBACK, address.gateway_port)}"
