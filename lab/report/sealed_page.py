"""HTML pages that run no scripts, even as local files."""

from typing import Final

SEAL: Final = (
    "<!doctype html>"
    '<meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="'
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; "
    "base-uri 'none'\">"
)
"""The Content-Security-Policy that forbids all scripts in the content after it, also in attributes.

The policy stays in force if the content contains the beginning of a page (doctype, html, head).
"""


def sealed(page: str) -> str:
    """Return the page with the policy before its content."""
    return page if page.startswith(SEAL) else SEAL + page.removeprefix("\ufeff")
