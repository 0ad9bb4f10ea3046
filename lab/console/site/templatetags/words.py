"""Template filters that format durations, shares, policies and tables for readers."""

import math
from collections.abc import Mapping
from typing import Any

from django import template
from markupsafe import Markup

from lab import durations
from lab.console.site import spec_words
from lab.report.drawing.palette import colour_of
from lab.report.drawing.table import Table
from lab.spec.experiment import Spec
from lab.titles import title_of

register = template.Library()


@register.filter
def duration(seconds: float | None) -> str:
    """Return `40 s`, `3 min`, `1 h 20 min`; a dash for an unknown duration."""
    return "–" if seconds is None or not math.isfinite(seconds) else durations.duration(seconds)


@register.filter
def percent(ratio: float | None) -> str:
    """Return a ratio as a whole percentage."""
    return "–" if ratio is None else f"{100 * ratio:.0f} %"


@register.filter
def drawn(table: Table | Mapping[str, Any]) -> Markup:
    """Return the HTML of a table that a result stores as JSON, in the style of reports."""
    return (table if isinstance(table, Table) else Table.of(table)).html()


@register.filter
def policy_title(key: str) -> str:
    """Return the title of the policy with this key, for example `8Q-LIFO-Pri`."""
    return title_of(key)


@register.filter
def policy_colour(policy: str) -> str:
    """Return the colour of a policy in all figures and charts."""
    return colour_of(policy)


@register.filter
def percent_width(ratio: float) -> str:
    """Return a ratio as a CSS width."""
    return f"{100 * ratio:.2f}%"


@register.filter
def share(known: Mapping[str, float | None]) -> str:
    """Return `23.4 ± 1.2 %` for a mean with its interval."""
    mean, high = known["mean"], known["high"]
    if mean is None:
        return "–"
    half = "" if high is None else f" ± {100 * max(mean - (known['low'] or 0), high - mean):.1f}"
    return f"{100 * mean:.1f}{half} %"


@register.filter
def words(key: str) -> str:
    """Return a key such as `timed_out` with its words in ordinary spelling."""
    return str(key).replace("_", " ")


@register.filter
def seconds(value: float) -> str:
    """Return `12.3 s`, or a text for an infinite time."""
    return "for ever" if math.isinf(value) else f"{value:.1f} s"


@register.filter
def parameter(value: object) -> str:
    """Return a parameter's value as text: one number, or a number for each page type."""
    if isinstance(value, Mapping):
        return ", ".join(f"{page} {number:g}" for page, number in value.items())
    return f"{value:g}" if isinstance(value, int | float) else str(value)


@register.filter
def launched(spec: Spec | str | None) -> spec_words.SpecWords | None:
    """Return the short description of a spec (`spec_words`); None if there is no spec."""
    if not spec:
        return None
    return spec_words.of_text(spec) if isinstance(spec, str) else spec_words.of(spec)
