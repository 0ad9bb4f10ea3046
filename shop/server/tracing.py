"""Spans of traced requests: the page, and each of its queries (docs/telemetry.md).

The gateway decides which requests are traced, and sends the id of its span in the header field
`traceparent`.
"""

import atexit
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse

from common.telemetry import export_to
from common.telemetry.trace_context import TraceContext
from shop.page_types import PAGE_TYPE_BY_URL_NAME

_MOST_CHARACTERS = 2000
"""The maximum length of a query's text, in characters."""


class TraceMiddleware:
    """The middleware that sends the spans to the collector; without a collector, the shop does not
    use it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._export = export_to(settings.TELEMETRY_ENDPOINT, "doorbuster-shop")
        atexit.register(self._export.close)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        caller = TraceContext.parse(request.headers.get("traceparent", ""))
        if caller is None:
            return self.get_response(request)
        page = caller.child()
        attributes: dict[str, str | int] = {"http.request.method": request.method or ""}
        began_ns = time.time_ns()
        has_failed = True
        try:
            with connection.execute_wrapper(_Queries(self._export.add, page)):
                response = self.get_response(request)
            attributes["http.response.status_code"] = response.status_code
            has_failed = response.status_code >= 500
            return response
        finally:
            match = request.resolver_match
            if match is not None:
                attributes["http.route"] = "/" + match.route
                if kind := PAGE_TYPE_BY_URL_NAME.get(match.url_name or ""):
                    attributes["doorbuster.page"] = kind.name
            self._export.add(
                "page",
                page,
                caller,
                began_ns,
                time.time_ns(),
                kind="server",
                attributes=attributes,
                has_failed=has_failed,
            )


class _Queries:
    """A wrapper of Django's queries that sends a span for each query."""

    def __init__(self, add: Callable[..., None], page: TraceContext) -> None:
        self._add, self._page = add, page

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        began_ns = time.time_ns()
        has_failed = True
        try:
            result = execute(sql, params, many, context)
            has_failed = False
            return result
        finally:
            self._add(
                "query",
                self._page.child(),
                self._page,
                began_ns,
                time.time_ns(),
                kind="client",
                attributes={
                    "db.system.name": "postgresql",
                    "db.query.text": sql[:_MOST_CHARACTERS],
                },
                has_failed=has_failed,
            )
