"""The calls of programs at `/api/`: how the console recognises them and refuses them."""

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from django.views.csrf import csrf_failure

from common.http_api import Refusal

ADDRESS: Final = "/api/"
_NO_CREDENTIALS: Final = (
    "This call needs a token. Make one on the console's page /tokens/ and send it as "
    "`Authorization: Bearer TOKEN`."
)
_FORGED: Final = (
    "A web page sent this call without the console's CSRF token. Programs send a token instead: "
    "`Authorization: Bearer TOKEN`."
)
_UNKNOWN: Final = "The API has no such call. /api/openapi.json describes all calls."
_FAILED: Final = (
    "The console could not answer because of a fault; the console's log has the details."
)


def is_call(path: str) -> bool:
    """Return whether this address is for programs. Every refusal there is JSON."""
    return path.startswith(ADDRESS)


def refusal(
    status: int,
    error: str,
    *,
    field: str | None = None,
    allowed: str | None = None,
    wait_s: int | None = None,
) -> HttpResponse:
    """Return the answer to a refused call, which can be repeated after `wait_s` real seconds."""
    why = Refusal(error=error, field=field, allowed=allowed)
    headers = {} if wait_s is None else {"Retry-After": str(wait_s)}
    return JsonResponse(why.model_dump(exclude_none=True), status=status, headers=headers)


def no_credentials(error: str = _NO_CREDENTIALS) -> HttpResponse:
    """Return the answer to a call without a valid token."""
    answer = refusal(401, error)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def is_from_a_page(request: HttpRequest) -> bool:
    """Return whether a web page could have sent this request. A browser adds one of the tested
    header fields to every request that changes something.
    """
    fields = ("Origin", "Referer", "Cookie", "Sec-Fetch-Site", "Sec-Fetch-Mode")
    return any(request.headers.get(name) for name in fields)


# ---- Django's answers, as JSON for calls ---------------------------------------------------------


def wrong(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the refusal of a request that Django cannot read."""
    if is_call(request.path):
        return refusal(400, "The request cannot be read.")
    return defaults.bad_request(request, exception)


def denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the refusal of a request for which this person lacks the permission."""
    if is_call(request.path):
        return refusal(403, str(exception))
    return defaults.permission_denied(request, exception)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the refusal of a request that a page of another site could have sent."""
    return refusal(403, _FORGED) if is_call(request.path) else csrf_failure(request, reason)


def missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the answer to a request for an address that the console does not have."""
    if is_call(request.path):
        return refusal(404, _UNKNOWN)
    return defaults.page_not_found(request, exception)


def failed(request: HttpRequest) -> HttpResponse:
    """Return the answer to a request that failed because of a fault in the console."""
    return refusal(500, _FAILED) if is_call(request.path) else defaults.server_error(request)
