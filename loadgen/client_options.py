"""What the options of clients in a closed loop mean together.

Owns: turning them into a `ClientModel`.
Must not know: what is done with the model.
"""

from collections.abc import Mapping

from loadgen.clients import ClientModel
from loadgen.option_text import OptionError, number, weights, whole
from loadgen.sessions import SessionModelError

_FLAGS = {
    "per_set": "--clients-per-set",
    "patience_max_s": "--patience-max-s",
    "think_time_mean_s": "--client-think-time-mean-s",
    "reload_probability": "--reload-probability",
    "away_mean_s": "--away-mean-s",
    "mix": "--client-mix",
}


def client_model(text: Mapping[str, str]) -> ClientModel:
    """The clients that `text`, keyed by `Option.dest`, asks for.

    Raises `OptionError`, naming the option, for values that cannot be meant.
    """
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
