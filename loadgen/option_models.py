"""Which of the models a run plays, and that the options given are those of this one.

Owns: how a model is chosen, and refusing what is said to another one.
Must not know: what the options mean within their model.
"""

from collections.abc import Mapping

from loadgen.option_list import OPTIONS, Option
from loadgen.option_text import OptionError, is_set

_CHOSEN_BY = {"clients": "--clients-per-set", "partly-open": "--partly-open"}
_INSTEAD = {
    "clients": "clients come in a closed loop; leave it or --clients-per-set out",
    "partly-open": "sessions of --partly-open are others; leave it or --partly-open out",
}


def chosen_model(text: Mapping[str, str]) -> str:
    """`sessions`, `clients` or `partly-open`: what the options in `text`, by `Option.dest`, say.

    Raises `OptionError`, naming the option, for one that another model has.
    """
    model = "clients" if text["clients_per_set"] else "sessions"
    if is_set(text, "partly-open"):
        if model == "clients":
            raise OptionError(
                "--partly-open", "give either --partly-open or --clients-per-set, not both"
            )
        model = "partly-open"
    for option in OPTIONS:
        if option.model and option.model != model and _is_given(text, option):
            # An option of the chosen model's rival is idle; one of sessions contradicts.
            if option.model in _CHOSEN_BY:
                raise OptionError(option.flag, f"says nothing without {_CHOSEN_BY[option.model]}")
            raise OptionError(option.flag, _INSTEAD[model])
    return model


def _is_given(text: Mapping[str, str], option: Option) -> bool:
    """Whether the option says anything else than its default does."""
    given = text[option.dest]
    if given == option.default:
        return False
    try:
        return float(given) != float(option.default)
    except ValueError:
        return True
