"""Who may call the contract API: whoever has the token.

Owns: the token and its check. Must not know: what the calls do.

The token follows from the server's secret key, so there is no second secret to keep.
"""

import secrets

from django.http import HttpRequest
from django.utils.crypto import salted_hmac


def token() -> str:
    """What `Authorization: Bearer …` must carry."""
    return salted_hmac("shop.ads.permission", "contracts", algorithm="sha256").hexdigest()


def granted(request: HttpRequest) -> bool:
    """Whether the request carries the token."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme == "Bearer" and secrets.compare_digest(given.encode(), token().encode())
