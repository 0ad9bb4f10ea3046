"""The page docs/console-api.md, which `python -m lab.console.api.reference` writes."""

import os
from pathlib import Path
from typing import Final

from common.http_api import tables

PAGE: Final = Path(__file__).parents[3] / "docs" / "console-api.md"
_ABOVE: Final = """# The console's API

`python -m lab.console.api.reference` generates this page from the models with which the console
checks calls. `/api/openapi.json` describes the same calls in a format for programs,
[OpenAPI](https://spec.openapis.org/oas/v3.1.0). [Console](console.md#for-programs) explains tokens
and shows how to call the API with `curl` and with the command line.

The numbers after an answer are the HTTP statuses with which the console can [refuse](#refusal) the
call. Status 401 means that the token is missing or invalid, and 403 that the person lacks a
permission or has reached a limit. Status 429 means that a rate limit is reached: the header
`Retry-After` gives the number of seconds to wait before you repeat the call.

"""


def page() -> str:
    """Return the text of the page, made from the current code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")
    import django

    django.setup()
    from lab.console.api import views

    return _ABOVE + tables(views.openapi_document())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
