"""A short description of a spec for lists: its policies, loads and customers."""

from dataclasses import dataclass
from functools import lru_cache

from lab.errors import ExperimentError
from lab.spec.experiment import Spec, read_spec
from lab.titles import title_of

_MOST_NAMED = 4
"""The maximum number of policies that the text names; longer lists end with `and 17 more`."""


@dataclass(frozen=True, slots=True)
class SpecWords:
    """The parts of a spec by which a reader distinguishes launches."""

    policies: str
    """The policies' titles, for example `SQ, 8Q-AF and 17 more`."""
    all_policies: str
    loads: str
    """The values of ρ, for example `1.4, 2`; a dash for a closed loop."""
    customers: str
    """The number of sessions in each run, or the period in which sessions arrive."""
    repetitions: int


def of(spec: Spec) -> SpecWords:
    """Return the short description of a spec."""
    titles = list(dict.fromkeys(title_of(choice.key) for choice in spec.policy))
    named = titles if len(titles) <= _MOST_NAMED else titles[: _MOST_NAMED - 1]
    more = len(titles) - len(named)
    load = spec.load
    loads = "schedule" if load.schedule else ", ".join(f"{rho:g}" for rho in load.rho or ())
    return SpecWords(
        policies=", ".join(named) + (f" and {more} more" if more else ""),
        all_policies=", ".join(titles),
        loads=loads or "–",
        customers=f"{load.sessions:,}" if load.sessions else f"{load.arrivals_s or 0:g} s",
        repetitions=spec.repetitions,
    )


@lru_cache(maxsize=256)
def of_text(text: str) -> SpecWords | None:
    """Return the short description of a spec in TOML; None if this version cannot read the spec."""
    try:
        return of(read_spec(text, "spec"))
    except ExperimentError:
        return None
