"""What a page of the console may load: its own files and nothing from outside.

Owns: the Content-Security-Policy. Must not know: pages.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)


@sync_and_async_middleware
def ContentSecurityMiddleware(  # noqa: N802 - named as every middleware
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Adds the header to every answer that has none."""
    from asgiref.sync import iscoroutinefunction

    if iscoroutinefunction(get_response):

        async def middleware(request: HttpRequest) -> HttpResponse:
            response = await get_response(request)
            response.headers.setdefault("Content-Security-Policy", POLICY)
            return response

    else:

        def middleware(request: HttpRequest) -> HttpResponse:
            response = get_response(request)
            response.headers.setdefault("Content-Security-Policy", POLICY)
            return response

    return middleware
