"""The page docs/console-api.md: `python -m lab.console.api.reference` writes it."""

import os
from pathlib import Path
from typing import Final

from common.http_api import tables

PAGE: Final = Path(__file__).parents[3] / "docs" / "console-api.md"
_ABOVE: Final = """# The console's API

`python -m lab.console.api.reference` writes this page from the forms by which the console checks
calls. `/api/openapi.json` has the same for programs, in the form of
[OpenAPI](https://spec.openapis.org/oas/v3.1.0). [Console](console.md#for-programs) explains tokens
and shows calls by `curl` and by the command line.

A number behind an answer is the status of a [refusal](#refusal). Status 401 is about the
token, 403 about the rights or limits of its person, and 429 about a rate: the field `Retry-After`
has the seconds after which the call is possible again.

"""


def page() -> str:
    """Return the page of the present code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")
    import django

    django.setup()
    from lab.console.api import openapi

    return _ABOVE + tables(openapi.document())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
