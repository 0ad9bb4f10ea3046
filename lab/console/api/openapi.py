"""The OpenAPI document of the console's API."""

from functools import cache
from typing import Any, Final

from common import http_api
from common.http_api import Api, Call
from lab.console.api import launch_calls, people_calls, result_calls, schemas
from lab.console.api.api import api

CALLS: Final = (launch_calls, result_calls, people_calls)
"""The modules to import so that the API has their calls."""
_API: Final = Api(
    "Doorbuster lab console",
    "Launches, results, notes, the scoreboard and accounts.",
    token="a token from the page /tokens/; a console without accounts needs no token",
    refusals={},
)
_DESCRIPTION: Final = Call(
    "GET", "/api/openapi.json", "This description", "application/json", is_open=True
)
_REASONS: Final = {
    "400": "a field is wrong",
    "401": "the token is missing or invalid",
    "403": "the person lacks a permission or has reached a limit",
    "404": "the entry does not exist",
    "409": "the queue is full, or the person is not allowed to launch this now",
    "411": "the request does not state the size of its body",
    "413": "the body is too large",
    "415": "the type of the body is wrong",
    "422": "the result cannot be packed",
    "429": (
        "a rate limit is reached, or other downloads are being packed; Retry-After gives the "
        "waiting time in seconds"
    ),
    "503": "the console cannot read or write its disk",
}


@cache
def document() -> dict[str, Any]:
    """Return the complete OpenAPI document."""
    managed = api.get_openapi_schema(path_prefix="api/")
    whole = http_api.document(_API, (_DESCRIPTION,))
    for path, methods in managed["paths"].items():
        for operation in methods.values():
            operation["security"] = [{}, {"token": []}]
            operation["responses"] = {
                str(status): answer | {"description": _REASONS.get(str(status), "done")}
                for status, answer in operation["responses"].items()
            }
        whole["paths"][path] = methods
    for kind, entries in managed["components"].items():
        whole["components"].setdefault(kind, {}).update(entries)
    for form in (schemas.LaunchesQuery, schemas.ResultsQuery):  # their fields are parameters
        whole["components"]["schemas"].pop(form.__name__, None)
    return whole
