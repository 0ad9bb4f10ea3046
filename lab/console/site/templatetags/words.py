"""Template filters that write durations, shares and policies for people."""

import math
from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from lab import durations
from lab.report.drawing.palette import colour_of
from lab.titles import title_of

register = template.Library()


@register.filter
def duration(seconds: float | None) -> str:
    """Return `40 s`, `3 min`, `1 h 20 min`; a dash for an unknown duration."""
    return "–" if seconds is None or not math.isfinite(seconds) else durations.duration(seconds)


@register.filter
def percent(ratio: float | None) -> str:
    """Return a ratio as a percentage without digits."""
    return "–" if ratio is None else f"{100 * ratio:.0f} %"


@register.filter
def beside(cell: str) -> SafeString:
    """Return `published | measured` as two numbers, each with a name for screen readers."""
    published, bar, measured = str(cell).partition(" | ")
    if not bar:
        return format_html("{}", cell)
    return format_html(
        '<span class="theirs"><span class="unseen">published </span>{}</span> '
        '<span class="ours"><span class="unseen">here </span>{}</span>',
        published,
        measured,
    )


@register.filter
def policy_title(key: str) -> str:
    """Return the title of a policy by its key: `8Q-LIFO-Pri`."""
    return title_of(key)


@register.filter
def policy_colour(policy: str) -> str:
    """Return the colour of a policy in all figures and charts."""
    return colour_of(policy)


@register.filter
def percent_width(ratio: float) -> str:
    """Return a ratio as a width in CSS."""
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
    """Return a key such as `timed_out` as people write it."""
    return str(key).replace("_", " ")


@register.filter
def seconds(value: float) -> str:
    """Return `12.3 s`, or words for an infinite time."""
    return "for ever" if math.isinf(value) else f"{value:.1f} s"


@register.filter
def parameter(value: object) -> str:
    """Return a parameter's value as text: a number, or one for each page type."""
    if isinstance(value, Mapping):
        return ", ".join(f"{page} {number:g}" for page, number in value.items())
    return f"{value:g}" if isinstance(value, int | float) else str(value)
