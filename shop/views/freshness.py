"""The caching rule for cart, account and checkout: only the answer to a refused form is kept."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers, patch_cache_control, patch_response_headers


def always_fresh(
    view: Callable[..., HttpResponse],
) -> Callable[..., HttpResponse]:
    """Forbid every cache to keep the pages of this view.

    The answer to a refused form is the exception: no `GET` request can show it again, so the
    browser keeps it for its button *Back*.
    """

    @wraps(view)
    def fresh(request: HttpRequest, *rest: object, **named: object) -> HttpResponse:
        response = view(request, *rest, **named)
        if request.method == "POST" and response.status_code in (409, 422):
            patch_response_headers(response, cache_timeout=-1)
            patch_cache_control(response, no_cache=True, must_revalidate=True, private=True)
        else:
            add_never_cache_headers(response)
        return response

    return fresh
