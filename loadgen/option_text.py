"""What the text of an option says.

Owns: turning text into numbers, paths, schedules, mixtures and weights, or into one line that
names the option. Must not know: which options there are, what they are for.
"""

import math
from collections.abc import Mapping
from pathlib import Path

from loadgen.load_schedule import RateStep
from loadgen.sessions import LengthClass, Schedule, Segment, SessionModelError

_YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0", "")
"""As Locust's command line, environment and web UI write flags."""


class OptionError(ValueError):
    """An option that is refused: one line that names it and says the mend."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option


def number(
    text: Mapping[str, str],
    name: str,
    above: float | None = None,
    at_least: float | None = None,
    finite: bool = True,
) -> float:
    """The number in option `name`; raises `OptionError` when it is none or out of range."""
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


def whole(text: Mapping[str, str], name: str, at_least: int) -> int:
    """The whole number in option `name`; raises `OptionError` as `number` does."""
    given = text[name.replace("-", "_")]
    try:
        value = int(given)
    except ValueError:
        raise OptionError(f"--{name}", f"{given!r} is no whole number") from None
    if value < at_least:
        raise OptionError(f"--{name}", f"{given} is out of range; give {at_least} or more")
    return value


def is_set(text: Mapping[str, str], name: str) -> bool:
    """Whether the flag `name` is up; raises `OptionError` for what is neither yes nor no."""
    given = text[name.replace("-", "_")].lower()
    if given not in _YES + _NO:
        raise OptionError(f"--{name}", f"{given!r} is neither true nor false")
    return given in _YES


def readable(flag: str, given: str) -> Path | None:
    """The path in `given`, None when empty; raises `OptionError` where there is no file."""
    if given and not Path(given).is_file():
        raise OptionError(flag, f"there is no file {given}")
    return Path(given) if given else None


def writable(given: str, flag: str) -> Path | None:
    """The path in `given`, None when empty; raises `OptionError` where no file can be."""
    if not given:
        return None
    path = Path(given)
    if not path.parent.is_dir():
        raise OptionError(flag, f"there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise OptionError(flag, f"{path} is a folder; give a file name in it")
    return path


def account(given: str) -> str:
    """The format in `given`; raises `OptionError` when it takes no number."""
    try:
        given % 1
    except (TypeError, ValueError):
        raise OptionError("--account", f"{given!r} has no place for a number, e.g. %04d") from None
    return given


def schedule(given: str) -> Schedule | None:
    """A schedule such as `50:1.0,50:1.5` (paper seconds, ρ), None when empty."""
    if not given:
        return None
    flag = "--load-schedule"
    segments = []
    for part in given.split(","):
        try:
            duration_s, rho = (float(value) for value in part.split(":"))
        except ValueError:
            raise OptionError(
                flag, f"{part.strip()!r} is no segment; give seconds:load, e.g. 50:1.0,50:1.5"
            ) from None
        segments.append(Segment(duration_s, rho))
    try:
        return Schedule(tuple(segments))
    except SessionModelError as error:
        raise OptionError(flag, str(error)) from None


def rate_steps(given: str) -> tuple[RateStep, ...]:
    """Rates such as `0:3.5,600:0.75` (from paper second, new sessions per paper second)."""
    flag = "--sessions-schedule"
    if not given:
        raise OptionError(flag, "is missing; give second:rate, e.g. 0:3.5,600:0.75")
    steps = []
    for part in given.split(","):
        try:
            from_s, sessions_ps = (float(value) for value in part.split(":"))
        except ValueError:
            raise OptionError(
                flag, f"{part.strip()!r} is no step; give second:rate, e.g. 0:3.5,600:0.75"
            ) from None
        steps.append(RateStep(from_s, sessions_ps))
    return tuple(steps)


def weights(given: str) -> dict[str, float]:
    """Weights such as `home:25,file:54`; raises `OptionError` for anything else."""
    found: dict[str, float] = {}
    for part in given.split(","):
        kind, _, weight = (word.strip() for word in part.partition(":"))
        try:
            value = float(weight)
        except ValueError:
            raise OptionError(
                "--client-mix", f"{part.strip()!r} is no weight; give kind:weight, e.g. home:25"
            ) from None
        if kind in found:
            raise OptionError("--client-mix", f"{kind!r} is given twice; give each kind once")
        found[kind] = value
    return found


def mixture(given: str) -> tuple[LengthClass, ...]:
    """Classes of sessions such as `sales:0.183:73.6,non-sales:0.817:28.2`; none when empty."""
    classes = []
    for part in given.split(",") if given else ():
        try:
            name, share, mean = part.split(":")
            classes.append(LengthClass(name.strip(), float(share), float(mean)))
        except ValueError:
            raise OptionError(
                "--session-mixture",
                f"{part.strip()!r} is no class; give name:share:mean, e.g. "
                "sales:0.183:73.6,non-sales:0.817:28.2",
            ) from None
    return tuple(classes)
