"""Template tags for the live run, and for the names of page types."""

from django import template

from gateway.policies.interface import PAGES

register = template.Library()


@register.inclusion_tag("console/glance.html")
def glance() -> dict[str, object]:
    """Show a small picture of the live run if a live run is in progress."""
    return {"pages": list(PAGES)}


@register.simple_tag
def page_names() -> dict[str, str]:
    """Return the name of each page type; the name of "Br-1" is "Br-1 home"."""
    return {page.value: f"{page} {page.name.lower()}" for page in PAGES}
