"""Error pages in the shop's look. They ask neither session nor database, which may be the error."""

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string


def _page(status: int, title: str, message: str) -> HttpResponse:
    html = render_to_string(
        "shop/error.html", {"status": status, "title": title, "message": message}
    )
    return HttpResponse(html, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400."""
    return _page(400, "We did not understand that", "The request is not one this shop can read.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return _page(403, "Not for you", "This page belongs to somebody else.")


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the CSRF token of a form is missing or old."""
    return _page(
        403,
        "This form has expired",
        "Go back, reload the page and send the form again. Cookies must be allowed.",
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return _page(404, "No such page", "It may have been sold. Try the search or the shelves.")


def server_error(request: HttpRequest) -> HttpResponse:
    """500."""
    return _page(500, "Our mistake", "Something broke on our side. Nothing was ordered by it.")
