"""The page docs/controller-api.md: `python -m shop.control.reference` writes it."""

from pathlib import Path
from typing import Final

from common.http_api import tables
from shop.control import calls

PAGE: Final = Path(__file__).parents[2] / "docs" / "controller-api.md"
_ABOVE: Final = """# The shop's controller

`python -m shop.control.reference` writes this page from the schemas with which the controller
checks calls. `/openapi.json` has the same description for programs, in
[OpenAPI](https://spec.openapis.org/oas/v3.1.0) form. [Settings](settings.md#addresses) explains
which hosts may call; [metrics](metrics.md) lists the metrics that `/metrics` returns.

In the table, a number after an answer is the status of a possible [refusal](#refusal). Statuses 401
and 403 depend on the caller: on [the inner token](settings.md#the-inner-token) and on
[addresses](settings.md#addresses).

"""


def page() -> str:
    """Return the page that describes the present code."""
    return _ABOVE + tables(calls.document())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
