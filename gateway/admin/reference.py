"""The generator of docs/admin-api.md: `python -m gateway.admin.reference`."""

from pathlib import Path
from typing import Final

from common.http_api import tables
from gateway.admin import calls

PAGE: Final = Path(__file__).parents[2] / "docs" / "admin-api.md"
_ABOVE: Final = """# The gateway's admin API

`python -m gateway.admin.reference` writes this page from the forms with which the gateway checks
calls. `/openapi.json` has the same content for programs, in the format of
[OpenAPI](https://spec.openapis.org/oas/v3.1.0). [Gateway](gateway.md#admin-api) explains which
callers are accepted, and shows calls with `curl`; [metrics](metrics.md) lists the metrics in the
answer to `/metrics`.

The numbers after an answer are the statuses of [refusals](#refusal). A call
without [the inner token](settings.md#the-inner-token) gets 401, and a call to a wrong
[address](settings.md#addresses) gets 403.

"""


def page() -> str:
    """Return the page, generated from the code."""
    return _ABOVE + tables(calls.document())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
