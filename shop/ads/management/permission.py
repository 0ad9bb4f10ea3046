"""The check of callers: by token, which follows from the secret key, or perhaps by port."""

import secrets

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import salted_hmac


def token() -> str:
    """Return the token for the header field `Authorization: Bearer …`."""
    return salted_hmac(
        "shop.ads.management.permission", "contracts", algorithm="sha256"
    ).hexdigest()


def direct(request: HttpRequest) -> bool:
    """Return whether the request came to the ad server's port, without the gateway's field."""
    return "X-Forwarded-For" not in request.headers


def granted(request: HttpRequest) -> bool:
    """Return whether the request carries the token."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme == "Bearer" and fits(given)


def fits(given: str) -> bool:
    """Return whether this text is the token."""
    return secrets.compare_digest(given.encode(), token().encode())


def refusal() -> HttpResponse:
    """Return the answer to a call without a valid token."""
    error = (
        "this call needs a token: send `Authorization: Bearer TOKEN` with the token that "
        "`python -m shop.ads token` prints"
    )
    return JsonResponse({"error": error}, status=401, headers={"WWW-Authenticate": "Bearer"})
