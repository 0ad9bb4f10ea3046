"""The shop's own middleware: page work around the eight pages, and what a browser may load."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from shop import activity, page_work
from shop.page_types import PAGE_TYPE_BY_URL_NAME

_Handler = Callable[[HttpRequest], HttpResponse]

_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# What shows a page. A redirect, a wrong address or a crash is answered without page work.
_STATUSES_WITH_WORK = frozenset((200, 409, 422))


class PageWorkMiddleware:
    """Outermost: measures what a page itself cost and makes up the rest of its execution time."""

    def __init__(self, get_response: _Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        thread = activity.mine()
        alone = activity.busy_workers() == 0
        thread.busy = True
        thread.requests += 1
        try:
            stopwatch = page_work.Stopwatch()
            with stopwatch.counting_queries():
                response = self.get_response(request)
            match = request.resolver_match
            page = PAGE_TYPE_BY_URL_NAME.get(match.url_name) if match and match.url_name else None
            if page is not None and response.status_code in _STATUSES_WITH_WORK:
                alone = alone and activity.busy_workers() == 1
                page_work.work.complete(page, stopwatch, thread.page(page.name), alone)
            return response
        finally:
            thread.busy = False


class ContentSecurityMiddleware:
    """Pages load nothing but the shop's own styles and pictures."""

    def __init__(self, get_response: _Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers["Content-Security-Policy"] = _CONTENT_SECURITY_POLICY
        return response


class VisitMiddleware:
    """A visit begins with the first of the eight pages: from then on the session has a cookie."""

    def __init__(self, get_response: _Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        match = request.resolver_match
        if (
            settings.SESSION_COOKIE_NAME not in request.COOKIES
            and response.status_code == 200
            and match is not None
            and match.url_name in PAGE_TYPE_BY_URL_NAME
        ):
            request.session.setdefault("visit", 1)
        return response
