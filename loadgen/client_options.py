"""What the options of clients in a closed loop mean together.

Owns: turning them into a `ClientModel`, and which options are for sessions alone.
Must not know: what is done with the model.
"""

from collections.abc import Mapping

from loadgen.clients import ClientModel
from loadgen.option_list import OPTIONS
from loadgen.option_text import OptionError, number, weights, whole
from loadgen.sessions import SessionModelError

_CLIENTS_ONLY = (
    "patience-max-s",
    "client-think-time-mean-s",
    "reload-probability",
    "away-mean-s",
    "client-mix",
)
_SESSIONS_ONLY = (
    "rho",
    "sessions",
    "load-schedule",
    "session-rate",
    "capacity-rps",
    "timeout-s",
    "think-timeout-mean-s",
    "retry-probability",
    "max-retries",
    "think-time-mean-s",
    "walks",
    "file-sessions",
    "session-length-mean",
    "session-length-kind",
    "session-mixture",
    "closed-loop-customers",
    "closed-loop-duration",
    "closed-loop-warm-up",
)
_DEFAULTS = {option.name: option.default for option in OPTIONS}
_FLAGS = {
    "per_set": "--clients-per-set",
    "patience_max_s": "--patience-max-s",
    "think_time_mean_s": "--client-think-time-mean-s",
    "reload_probability": "--reload-probability",
    "away_mean_s": "--away-mean-s",
    "mix": "--client-mix",
}


def client_model(text: Mapping[str, str]) -> ClientModel | None:
    """The clients that `text`, keyed by `Option.dest`, asks for; None when there are sessions.

    Raises `OptionError`, naming the option, for values that cannot be meant, and for options of
    clients without clients or of sessions with them.
    """
    if not text["clients_per_set"]:
        for name in _CLIENTS_ONLY:
            if _is_given(text, name):
                raise OptionError(f"--{name}", "says nothing without --clients-per-set")
        return None
    for name in _SESSIONS_ONLY:
        if _is_given(text, name):
            raise OptionError(
                f"--{name}", "clients come in a closed loop; leave it or --clients-per-set out"
            )
    if not text["arrivals_until_s"]:
        raise OptionError("--arrivals-until-s", "is missing; say how long the clients are there")
    try:
        return ClientModel(
            per_set=whole(text, "clients-per-set", at_least=1),
            patience_max_s=number(text, "patience-max-s", above=0),
            think_time_mean_s=number(text, "client-think-time-mean-s", above=0),
            reload_probability=number(text, "reload-probability", at_least=0),
            away_mean_s=number(text, "away-mean-s", at_least=0),
            mix=weights(text["client_mix"]),
        )
    except SessionModelError as error:
        name, _, kind = error.field.partition(".")
        message = str(error).partition(": ")[2]
        raise OptionError(_FLAGS[name], f"{kind}: {message}" if kind else message) from None


def require_duration(model: ClientModel, duration_s: float) -> None:
    """Raises `OptionError` for a run that is too long to be written down."""
    try:
        model.require_duration(duration_s)
    except SessionModelError as error:
        raise OptionError("--arrivals-until-s", str(error).partition(": ")[2]) from None


def _is_given(text: Mapping[str, str], name: str) -> bool:
    """Whether the option says anything else than its default does."""
    given, default = text[name.replace("-", "_")], _DEFAULTS[name]
    if given == default:
        return False
    try:
        return float(given) != float(default)
    except ValueError:
        return True
