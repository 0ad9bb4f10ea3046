"""Which request is which page type: the gateway's own table, for a peer's configuration.

Owns: where it is taken from. Must not know: how a peer writes it down.
"""

from functools import cache

from gateway import pages


@cache
def page_rules() -> tuple[pages.Rule, ...]:
    """In the order in which they are tried; the rules that come with the gateway."""
    return pages.load().rules
