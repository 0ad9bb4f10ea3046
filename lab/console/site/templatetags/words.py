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
    """`40 s`, `3 min`, `1 h 20 min`; a dash where nobody knows."""
    return "–" if seconds is None or not math.isfinite(seconds) else durations.duration(seconds)


@register.filter
def percent(ratio: float | None) -> str:
    """A ratio as a percentage without digits."""
    return "–" if ratio is None else f"{100 * ratio:.0f} %"


@register.filter
def beside(cell: str) -> SafeString:
    """`published | measured` as two figures, each named for who cannot see where it stands."""
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
    """The policy of a key for people: `8Q-LIFO-Pri`."""
    return title_of(key)


@register.filter
def policy_colour(policy: str) -> str:
    """The colour that a policy has in every figure and chart."""
    return colour_of(policy)


@register.filter
def percent_width(ratio: float) -> str:
    """A ratio as a width in CSS."""
    return f"{100 * ratio:.2f}%"


@register.filter
def share(known: Mapping[str, float | None]) -> str:
    """`23.4 ± 1.2 %` of a mean with its interval."""
    mean, high = known["mean"], known["high"]
    if mean is None:
        return "–"
    half = "" if high is None else f" ± {100 * max(mean - (known['low'] or 0), high - mean):.1f}"
    return f"{100 * mean:.1f}{half} %"


@register.filter
def words(key: str) -> str:
    """`timed_out` as people write it."""
    return str(key).replace("_", " ")


@register.filter
def seconds(value: float) -> str:
    """`12.3 s`; for ever is said."""
    return "for ever" if math.isinf(value) else f"{value:.1f} s"


@register.filter
def parameter(value: object) -> str:
    """A parameter's value: a number, or one for each page type."""
    if isinstance(value, Mapping):
        return ", ".join(f"{page} {number:g}" for page, number in value.items())
    return f"{value:g}" if isinstance(value, int | float) else str(value)
