"""The Content-Security-Policy that forbids all scripts of a page, also of an imported page."""

from typing import Final

SEAL: Final = (
    "<!doctype html>"
    '<meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="'
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; "
    "base-uri 'none'\">"
)
"""The Content-Security-Policy that forbids all scripts in the content after it, even if the content
contains the beginning of a page (doctype, html, head)."""


def sealed(page: str) -> str:
    """Return the page with the Content-Security-Policy in front of its content."""
    return page if page.startswith(SEAL) else SEAL + page.removeprefix("\ufeff")
