"""The OpenAPI document of the whole ad server."""

from functools import cache
from typing import Any, Final

from common import http_api
from common.http_api import Api, Call
from shop.ads.management import schemas
from shop.ads.management.api import api

_API: Final = Api(
    "Doorbuster ad server",
    "These calls choose the banners of pages, and manage the contracts for these banners.",
    token="`python -m shop.ads token` prints it; `select`, `candidates` and `metrics` need no "
    "token if the call comes directly to the ad server's port",
    refusals={},
)
_MISSING: Final = {404: "there is no banner with this id"}
CALLS: Final = (
    Call(
        "GET",
        "/ads/select",
        "Choose banners for the slots of one page, and count their impressions",
        schemas.Selection,
        query=schemas.SelectQuery,
    ),
    Call(
        "GET",
        "/ads/candidates",
        "List the banners that a slot could show now, with their weights",
        schemas.Candidates,
        query=schemas.CandidatesQuery,
    ),
    Call(
        "GET",
        "/ads/banner/{id}.svg",
        "Show a banner's picture",
        "image/svg+xml",
        refusals=_MISSING,
        parameter="a banner's id",
        is_open=True,
    ),
    Call(
        "GET",
        "/ads/click/{id}",
        "Count a click on a banner and redirect to its landing page",
        "",
        query=schemas.ClickQuery,
        refusals=_MISSING,
        status=302,
        parameter="a banner's id",
        is_open=True,
    ),
    Call(
        "GET",
        "/ads/landing/{id}",
        "Show the landing page of a click",
        "text/html",
        refusals=_MISSING,
        parameter="a banner's id",
        is_open=True,
    ),
    Call(
        "GET",
        "/ads/health",
        "Show whether this process serves requests",
        schemas.Health,
        is_open=True,
    ),
    Call("GET", "/ads/metrics", "Show the metrics of all processes, for Prometheus", "text/plain"),
)
"""The calls outside the management API."""


@cache
def document() -> dict[str, Any]:
    managed = api.get_openapi_schema(path_prefix="ads/")
    whole = http_api.document(_API, CALLS)
    for path, methods in managed["paths"].items():
        methods.pop("head", None)  # the same as GET
        whole["paths"][path] = methods
    for kind, entries in managed["components"].items():
        whole["components"][kind].update(entries)
    return whole
