"""What moves on pages that are about something else.

Owns: the panel of the live run. Must not know: the pages it is on.
"""

from django import template

from gateway.policies.interface import PAGES

register = template.Library()


@register.inclusion_tag("console/glance.html")
def glance() -> dict[str, object]:
    """A small picture of the live run, there while one is under way."""
    return {"pages": list(PAGES)}
