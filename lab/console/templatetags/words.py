"""Filters for templates: durations and shares as people say them.

Owns: their wording. Must not know: pages.
"""

from django import template

from lab.experiments.titles import title_of

register = template.Library()


@register.filter
def duration(seconds: float | None) -> str:
    """`40 s`, `3 min`, `1 h 20 min`."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


@register.filter
def percent(ratio: float | None) -> str:
    """A ratio as a percentage without digits."""
    return "–" if ratio is None else f"{100 * ratio:.0f} %"


@register.filter
def policy_title(key: str) -> str:
    """The policy of a key for people: `8Q-LIFO-Pri`."""
    return title_of(key)
