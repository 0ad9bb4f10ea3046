"""The error pages, in the shop's style.

They use neither the session nor the database, because these may have caused the error.
"""

import sys

from django.contrib.sessions.exceptions import SessionInterrupted
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string

from shop import outages, purchases

AWAY_S = 2
"""The real seconds after which the browser should try again; a killed process restarts within
seconds.
"""
_ONCE = (
    "If you were placing an order, send the form again: the order is placed only once, however "
    "often you send it."
)


def _page(status: int, title: str, message: str, **more: object) -> HttpResponse:
    html = render_to_string(
        "shop/error.html", {"status": status, "title": title, "message": message, **more}
    )
    return HttpResponse(html, status=status)


def _come_back(title: str, message: str) -> HttpResponse:
    """Answer with 503, because the page will be available again within seconds."""
    response = _page(503, title, f"{message} {_ONCE}")
    response.headers["Retry-After"] = str(AWAY_S)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer with 400, or with 503 if the session ended while the shop created the page.

    The customer can send the same request again, without a session.
    """
    if isinstance(exception, SessionInterrupted):
        return _come_back("Please try again", "Your session ended while the shop made this page.")
    return _page(400, "This request is not valid", "The shop cannot read this request.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(403, "Access denied", "This page belongs to another customer.")


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer with 403, because the CSRF token of a form is missing or old.

    A sign-in, even in another tab, makes the tokens of all open pages invalid. If the refused form
    had a purchase, the answer has a form for this purchase with a new token.
    """
    purchase = request.POST.get("purchase", "")
    try:
        purchases.from_signed(purchase)
    except purchases.Unreadable:
        return _page(
            403,
            "This form has expired",
            "Allow cookies, go back, reload the page and send the form again.",
        )
    return _page(
        403,
        "This form has expired",
        "Perhaps you have signed in again in another tab, or your browser does not keep cookies. "
        "Nothing was ordered now. Go on with this order here: an order that was already placed is "
        "not placed again.",
        purchase=purchase,
        csrf_token=get_token(request),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    was_a_book = request.path_info.startswith("/books/")
    why = "The shop does not sell this book." if was_a_book else "This address has no page."
    return _page(404, "No such page", f"{why} Try the search or the shelves.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer with 500, or with 503 if PostgreSQL or Redis is unavailable.

    The pages do not state whether an order was placed, because the answer to a commit may have been
    lost. The form's CSRF token stays valid, so that the customer can send the form again.
    """
    request.META["CSRF_COOKIE_NEEDS_UPDATE"] = False
    away = outages.away(sys.exc_info()[1])
    if away is None:
        return _page(500, "An error in the shop", f"Something went wrong in the shop. {_ONCE}")
    outages.count(away)
    return _come_back("Closed for a moment", "The shop will be back in a few seconds.")
