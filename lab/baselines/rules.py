"""The rules that give a request's page type, taken from the gateway's own table for a proxy's
configuration.
"""

from functools import cache

from gateway.http import pages


@cache
def page_rules() -> tuple[pages.Rule, ...]:
    """Return the gateway's standard rules in the order in which they are tried."""
    return pages.load().rules
