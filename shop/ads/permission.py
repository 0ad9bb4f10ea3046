"""Who may call the contract API and the selection: whoever has the token, or comes
to its own port.

Owns: the token and its check, how to tell who came by a proxy. Must not know: what the calls do.

The token follows from the server's secret key, so there is no second secret to keep.
"""

import secrets

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import salted_hmac


def token() -> str:
    """What `Authorization: Bearer …` must carry."""
    return salted_hmac("shop.ads.permission", "contracts", algorithm="sha256").hexdigest()


def direct(request: HttpRequest) -> bool:
    """Whether the request came to the ad server's own port, which only the
    lab's own machines reach.

    The gateway, as every proxy does, names in X-Forwarded-For whose request it brings, and lets no
    customer take that away.
    """
    return "X-Forwarded-For" not in request.headers


def granted(request: HttpRequest) -> bool:
    """Whether the request carries the token."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme == "Bearer" and fits(given)


def fits(given: str) -> bool:
    """Whether this is the token."""
    return secrets.compare_digest(given.encode(), token().encode())


def refusal() -> HttpResponse:
    """Return the answer to a call without the token."""
    error = "this call needs the token that `python -m shop.ads token` prints"
    return JsonResponse({"error": error}, status=401, headers={"WWW-Authenticate": "Bearer"})
