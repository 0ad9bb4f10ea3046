"""Template filters that format durations, shares, policies, tables and specs for readers, and tags
for the live run and for page names."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from markupsafe import Markup

from gateway.policies.interface import PAGES
from lab import wording
from lab.errors import ExperimentError
from lab.report.drawing.palette import colour_of
from lab.report.drawing.table import Table
from lab.spec.experiment import Spec, read_spec
from lab.wording import title_of

_MOST_NAMED = 4
"""The maximum number of policies that the text names. A longer list ends with, for example,
`and 17 more`."""


@dataclass(frozen=True, slots=True)
class SpecWords:
    """The parts of a spec by which a reader distinguishes launches."""

    policies: str
    """The policies' titles, for example `SQ, 8Q-AF, 8Q-LIFO-Pri and 17 more`."""
    all_policies: str
    loads: str
    """The values of ρ, for example `1.4, 2`, or `schedule`; a dash for a closed loop."""
    customers: str
    """The number of sessions in each run, or the period in which sessions arrive."""
    repetitions: int


def spec_words(spec: Spec) -> SpecWords:
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
def _text_words(text: str) -> SpecWords | None:
    """Return the short description of a spec in TOML; None if this version cannot read the spec."""
    try:
        return spec_words(read_spec(text, "spec"))
    except ExperimentError:
        return None


register = template.Library()
register.filter("policy_title", title_of)
register.filter("policy_colour", colour_of)


@register.filter
def duration(seconds: float | None) -> str:
    """Return a duration as text, for example `40 s` or `1 h 20 min`; a dash if it is unknown."""
    return "–" if seconds is None or not math.isfinite(seconds) else wording.duration(seconds)


@register.filter
def percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.0f} %"


@register.filter
def drawn(table: Table | Mapping[str, Any]) -> Markup:
    """Return the HTML of a table that a result stores as JSON, in the style of reports."""
    return (table if isinstance(table, Table) else Table.of(table)).html()


@register.filter
def percent_width(ratio: float) -> str:
    return f"{100 * ratio:.2f}%"


@register.filter
def share(known: Mapping[str, float | None]) -> str:
    """Return a mean with its interval as text: `23.4 ± 1.2 %`."""
    mean, high = known["mean"], known["high"]
    if mean is None:
        return "–"
    half = "" if high is None else f" ± {100 * max(mean - (known['low'] or 0), high - mean):.1f}"
    return f"{100 * mean:.1f}{half} %"


@register.filter
def words(key: str) -> str:
    """Return a key such as `timed_out` as words: `timed out`."""
    return str(key).replace("_", " ")


@register.filter
def seconds(value: float) -> str:
    """Return a number of seconds as text, for example `12.3 s`; `for ever` if the number is
    infinite."""
    return "for ever" if math.isinf(value) else f"{value:.1f} s"


@register.filter
def parameter(value: object) -> str:
    """Return a parameter's value as text: one number, or a number for each page type."""
    if isinstance(value, Mapping):
        return ", ".join(f"{page} {number:g}" for page, number in value.items())
    return f"{value:g}" if isinstance(value, int | float) else str(value)


@register.filter
def launched(spec: Spec | str | None) -> SpecWords | None:
    """Return the short description of a spec (`SpecWords`); None if there is no spec."""
    if not spec:
        return None
    return _text_words(spec) if isinstance(spec, str) else spec_words(spec)


@register.inclusion_tag("console/glance.html")
def glance() -> dict[str, object]:
    """Show a small picture of the live run if a live run is in progress."""
    return {"pages": list(PAGES)}


@register.simple_tag
def page_names() -> dict[str, str]:
    """Return the name of each page type. The name of "Br-1" is "Br-1 home"."""
    return {page.value: f"{page} {page.name.lower()}" for page in PAGES}
