"""The WSGI application that the ad server's Gunicorn serves.

This module answers calls of `select` that come directly to the port, without Django's request,
middlewares and response. A search evicts Django's code from the processor's caches, so Django would
add a millisecond to a call. All other calls, and invalid calls of `select`, go through Django.
"""

import os
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from django.core.exceptions import SuspiciousOperation
from django.core.wsgi import get_wsgi_application
from django.http import QueryDict

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.ads.settings"

_django = get_wsgi_application()

from common.http_api import CallError  # noqa: E402 - Django is set up first
from shop.ads import server, settings, views  # noqa: E402

_HEADERS = (
    ("Content-Type", "application/json"),
    ("Cache-Control", "no-store"),
    ("X-Frame-Options", settings.X_FRAME_OPTIONS),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", settings.SECURE_REFERRER_POLICY),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
"""The header fields that Django adds to an answer of `select`."""


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    body = _selected(environ)
    if body is None:
        answered: Iterable[bytes] = _django(environ, start_response)
        return answered
    start_response("200 OK", [*_HEADERS, ("Content-Length", str(len(body)))])
    return [body]


def _selected(environ: dict[str, Any]) -> bytes | None:
    """Return the answer to a valid call of `select`; None if Django has to answer."""
    if (
        environ["PATH_INFO"] != "/ads/select"
        or environ["REQUEST_METHOD"] != "GET"
        or "HTTP_X_FORWARDED_FOR" in environ  # it needs the token
        or not environ["QUERY_STRING"].isascii()
    ):
        return None
    try:
        return views.selected(QueryDict(environ["QUERY_STRING"]))
    except (CallError, SuspiciousOperation, server.NotStarted):
        return None
