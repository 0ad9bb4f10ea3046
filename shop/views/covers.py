"""The cover pictures of books, which are drawn on request."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseNotModified
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from shop.catalogue.covers import DESIGN_VERSION, cover_svg
from shop.models import Book

# A cover changes only when its design changes, which also changes the ETag.
_CACHE = "public, max-age=604800, immutable"


@require_safe
def cover(request: HttpRequest, book_id: int) -> HttpResponse:
    """Answer with the cover of a book as SVG."""
    etag = f'"{DESIGN_VERSION}-{book_id}"'
    if request.headers.get("If-None-Match") == etag:
        response: HttpResponse = HttpResponseNotModified()
    else:
        book = get_object_or_404(
            Book.objects.select_related("author", "category").only(
                "title", "author__name", "category__slug"
            ),
            pk=book_id,
        )
        response = HttpResponse(
            cover_svg(book.pk, book.title, book.author.name, book.category.slug),
            content_type="image/svg+xml",
        )
    response["ETag"] = etag
    response["Cache-Control"] = _CACHE
    return response
