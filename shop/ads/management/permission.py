"""The permission to call the contract API and the selection: the token, or the ad server's port.

The token is derived from the server's secret key, so no second secret has to be kept.
"""

import secrets

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import salted_hmac


def token() -> str:
    """Return the value that `Authorization: Bearer …` must carry."""
    return salted_hmac(
        "shop.ads.management.permission", "contracts", algorithm="sha256"
    ).hexdigest()


def direct(request: HttpRequest) -> bool:
    """Return whether the request came to the ad server's port, which only lab machines can reach.

    Like every proxy, the gateway names the customer's address in X-Forwarded-For, and customers
    cannot remove it.
    """
    return "X-Forwarded-For" not in request.headers


def granted(request: HttpRequest) -> bool:
    """Return whether the request carries the token."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme == "Bearer" and fits(given)


def fits(given: str) -> bool:
    """Return whether this text is the token."""
    return secrets.compare_digest(given.encode(), token().encode())


def refusal() -> HttpResponse:
    """Return the answer to a call without the token."""
    error = "this call needs the token that `python -m shop.ads token` prints"
    return JsonResponse({"error": error}, status=401, headers={"WWW-Authenticate": "Bearer"})
