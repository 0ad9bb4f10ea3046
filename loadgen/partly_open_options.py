"""What the options of the partly-open model mean together.

Owns: turning them into what a run plays. Must not know: how it is played.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.load_schedule import RateStep, Schedule
from loadgen.option_text import OptionError, number, rate_steps, whole
from loadgen.partly_open import PartlyOpenModel
from loadgen.refusals import SessionModelError

_FLAGS = {
    "interactions_mean": "--interactions-mean",
    "interactions_most": "--interactions-most",
    "think_time_mean_s": "--interaction-think-time-mean-s",
    "timeout_s": "--interaction-timeout-s",
    "reconnects": "--reconnects",
    "images_mean": "--images-mean",
    "transactions_ratio": "--transactions-ratio",
}
_SCHEDULE = "--sessions-schedule"


@dataclass(frozen=True, slots=True)
class PartlyOpen:
    """Sessions at these rates, until the schedule's end; those under way are cut at `stop_s`."""

    model: PartlyOpenModel
    steps: tuple[RateStep, ...]
    schedule: Schedule
    stop_s: float | None
    """None: every session is waited for."""

    def facts(self) -> dict[str, Any]:
        """What the metadata says of it; JSON-ready."""
        return {
            "partly_open": self.model.parameters(),
            "sessions_schedule": [step._asdict() for step in self.steps],
            "stop_s": self.stop_s,
        }


def partly_open(text: Mapping[str, str]) -> PartlyOpen:
    """What the options in `text`, keyed by `Option.dest`, ask for.

    Raises `OptionError`, naming the option, for values that cannot be meant.
    """
    steps = rate_steps(text["sessions_schedule"])
    schedule = _schedule(steps, text)
    return PartlyOpen(_model(text), steps, schedule, _stop_s(text, schedule.duration_s))


def _model(text: Mapping[str, str]) -> PartlyOpenModel:
    try:
        return PartlyOpenModel(
            interactions_mean=number(text, "interactions-mean", at_least=1),
            interactions_most=whole(text, "interactions-most", at_least=1),
            think_time_mean_s=number(text, "interaction-think-time-mean-s", at_least=0),
            timeout_s=number(text, "interaction-timeout-s", above=0, finite=False),
            reconnects=whole(text, "reconnects", at_least=0),
            images_mean=number(text, "images-mean", at_least=0),
            transactions_ratio=number(text, "transactions-ratio", at_least=0),
        )
    except SessionModelError as error:
        raise OptionError(_FLAGS[error.field], str(error).partition(": ")[2]) from None


def _schedule(steps: tuple[RateStep, ...], text: Mapping[str, str]) -> Schedule:
    given = text["arrivals_until_s"]
    if given:
        until_s = number(text, "arrivals-until-s", above=0)
    elif len(steps) > 1 and steps[-1].sessions_ps == 0:
        # A schedule that ends in nobody says its own end.
        until_s = steps[-1].from_s
        steps = steps[:-1]
    else:
        raise OptionError(
            "--arrivals-until-s",
            f"is missing; say when arrivals end, or end {_SCHEDULE} at 0, e.g. 0:3.5,600:0",
        )
    try:
        return Schedule.of_rates(steps, until_s)
    except SessionModelError as error:
        flag = "--arrivals-until-s" if error.field == "until_s" else _SCHEDULE
        raise OptionError(flag, str(error).partition(": ")[2]) from None


def _stop_s(text: Mapping[str, str], until_s: float) -> float | None:
    if not text["stop_s"]:
        return None
    stop_s = number(text, "stop-s", above=0)
    if stop_s < until_s:
        raise OptionError(
            "--stop-s", f"{stop_s:g} is before arrivals end; give {until_s:g} or more"
        )
    return stop_s
