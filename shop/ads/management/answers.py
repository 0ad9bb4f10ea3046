"""The check of callers and of query parameters, and the answers to refused calls."""

import secrets
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.utils.crypto import salted_hmac

from common.http_api import CallError, Query, checked

_Query = TypeVar("_Query", bound=Query)


def refusal(status: int, error: str, **more: Any) -> HttpResponse:
    """Return an answer with this status, the field `error` and the fields in `more`."""
    return JsonResponse({"error": error, **more}, status=status)


def answer_of(error: CallError) -> HttpResponse:
    return JsonResponse(error.answer, status=error.status)


def single(given: QueryDict, form: type[_Query]) -> _Query:
    """Return the query parameters as a `form`. Raises CallError if a parameter is unknown, missing,
    invalid or repeated.
    """
    for name, values in given.lists():
        if len(values) > 1:
            raise CallError(f"{name}: is given more than once", name, "exactly one value")
    return checked(form, given.dict())


def token() -> str:
    """Return the token for the header field `Authorization: Bearer …`."""
    return salted_hmac(
        "shop.ads.management.permission", "contracts", algorithm="sha256"
    ).hexdigest()


def direct(request: HttpRequest) -> bool:
    """Return whether the request came directly to the ad server's port, which customers cannot
    reach.

    Customers' requests come through the gateway, which adds the header field X-Forwarded-For.
    """
    return "X-Forwarded-For" not in request.headers


def granted(request: HttpRequest) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme == "Bearer" and fits(given)


def fits(given: str) -> bool:
    """Return whether this text is the token."""
    return secrets.compare_digest(given.encode(), token().encode())


def without_token() -> HttpResponse:
    """Return the answer to a call without a valid token."""
    error = (
        "this call needs a token: send `Authorization: Bearer TOKEN` with the token that "
        "`python -m shop.ads token` prints"
    )
    return JsonResponse({"error": error}, status=401, headers={"WWW-Authenticate": "Bearer"})
