"""The generator of docs/controller-api.md: `python -m shop.control.reference`."""

from pathlib import Path
from typing import Final

from common.http_api import tables
from shop.control import calls

PAGE: Final = Path(__file__).parents[2] / "docs" / "controller-api.md"
_ABOVE: Final = """# The shop's controller

`python -m shop.control.reference` generates this page from the schemas with which the controller
checks calls. `/openapi.json` has the same description for programs, in
[OpenAPI](https://spec.openapis.org/oas/v3.1.0) form. [Metrics](metrics.md) lists the metrics that
`/metrics` returns.

The numbers after an answer are the statuses of [refusals](#refusal). The controller answers 401 to
a call without [the inner token](settings.md#the-inner-token). It answers 403 to a call for a wrong
[host](settings.md#addresses), and to a call from a web page.

"""


def page() -> str:
    """Return the page, generated from the code."""
    return _ABOVE + tables(calls.document())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
