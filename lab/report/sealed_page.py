"""HTML pages that run no scripts, also when they are opened from a disk."""

from typing import Final

SEAL: Final = (
    "<!doctype html>"
    '<meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="'
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; "
    "base-uri 'none'\">"
)
"""A browser obeys this policy for everything that follows it, scripts in attributes too.

What begins a page a second time (doctype, html, head) has no effect.
"""


def sealed(page: str) -> str:
    """The page with the policy before everything else in it."""
    return page if page.startswith(SEAL) else SEAL + page.removeprefix("\ufeff")
