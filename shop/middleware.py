"""The shop's middleware: page work, session cookies, and limits on what browsers may load."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from shop import activity
from shop.page_costs import page_work
from shop.page_costs.slow_database import slow_database
from shop.page_types import PAGE_TYPE_BY_URL_NAME

_Handler = Callable[[HttpRequest], HttpResponse]

_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# Statuses of answers that contain a page; other answers get no page work.
_STATUSES_WITH_WORK = frozenset((200, 409, 422))


class PageWorkMiddleware:
    """The middleware that measures a page's own cost and then adds page work (`page_work`)."""

    def __init__(self, get_response: _Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        thread = activity.mine()
        alone = activity.busy_workers() == 0
        thread.busy = True
        thread.requests += 1
        try:
            stopwatch = page_work.Stopwatch()
            with stopwatch.counting_queries(), slow_database.felt() as is_slow:
                response = self.get_response(request)
            match = request.resolver_match
            page = PAGE_TYPE_BY_URL_NAME.get(match.url_name) if match and match.url_name else None
            if page is not None and response.status_code in _STATUSES_WITH_WORK:
                # A slow database must not change the learnt waits of idle pages.
                alone = alone and activity.busy_workers() == 1 and not is_slow
                page_work.work.complete(page, stopwatch, thread.page(page.name), alone)
            return response
        finally:
            thread.busy = False


class ContentSecurityMiddleware:
    """The middleware that adds the header that makes browsers load only the shop's styles and
    pictures.
    """

    def __init__(self, get_response: _Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers["Content-Security-Policy"] = _CONTENT_SECURITY_POLICY
        return response


class VisitMiddleware:
    """The middleware that starts a session, and so sets its cookie, when a visitor without a
    session gets one of the eight pages.
    """

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
