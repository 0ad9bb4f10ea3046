"""The browsing pages: home (Br-1), browse (Br-2), search (Br-3), details (Br-4)."""

from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db import connection
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from shop.banners import Slot
from shop.catalogue.covers import DESIGN_VERSION, cover_svg
from shop.forms import SearchForm
from shop.models import Book, Category
from shop.searching import search_books
from shop.stock import shelf_filling

PER_PAGE = 20
_NEW = 6
_BESTSELLERS = 6
_RELATED = 6
SORTS = {
    "bestselling": ("Bestselling", ("sales_rank",)),
    "newest": ("Newest", ("-published", "sales_rank")),
    "price": ("Price", ("price_cents", "sales_rank")),
    "title": ("Title", ("title",)),
}


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show Br-1: the best book of every shelf, new books and bestsellers."""
    best = Book.objects.filter(category=OuterRef("pk")).order_by("sales_rank").values("pk")[:1]
    featured = (
        Book.objects.select_related("author", "category")
        .only("title", "author__name", "category__slug", "category__name")
        .filter(pk__in=Category.objects.order_by().values_list(Subquery(best)))
        .order_by("category__name")
    )
    new = list(Book.objects.listed().order_by("-published", "sales_rank")[:_NEW])
    return render(
        request,
        "shop/home.html",
        {
            "titles": f"{shelf_filling.size():,}",
            "featured": featured,
            "fan": new[:3],
            "new": new,
            "bestsellers": Book.objects.listed().order_by("sales_rank")[:_BESTSELLERS],
            "slot": Slot(request),
        },
    )


@require_safe
def browse(request: HttpRequest, slug: str) -> HttpResponse:
    """Show Br-2: one page of the books on a shelf."""
    category = get_object_or_404(Category, slug=slug)
    sort = request.GET.get("sort", "bestselling")
    if sort not in SORTS:
        raise Http404(f"There is no sort order {sort!r}. Choose from: {', '.join(SORTS)}.")
    books = Book.objects.listed().filter(category=category).order_by(*SORTS[sort][1])
    page = Paginator(books, PER_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "shop/browse.html",
        {
            "category": category,
            "page": page,
            "sort": sort,
            "pager_link": f"?sort={sort}&",
            "sorts": [(key, label) for key, (label, _) in SORTS.items()],
            "slot": Slot(request, lambda: [category.slug]),
        },
    )


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show Br-3: the results of a full-text search, the best match first."""
    form = SearchForm(request.GET)
    if not form.is_valid():
        return render(request, "shop/search.html", {"form": form, "query": ""}, status=422)
    query = form.cleaned_data["q"].strip()
    results = search_books(query, request.GET.get("page")) if query else None
    return render(
        request,
        "shop/search.html",
        {
            "form": form,
            "query": query,
            "results": results,
            "pager_link": f"?{urlencode({'q': query})}&",
            "slot": Slot(
                request, lambda: [shelf.slug for shelf in results.shelves] if results else []
            ),
        },
    )


@require_safe
def details(request: HttpRequest, book_id: int) -> HttpResponse:
    """Show Br-4: all details of a book, and the button *Buy*."""
    book = get_object_or_404(
        Book.objects.select_related("author", "category").defer("search"), pk=book_id
    )
    listed = Book.objects.listed()
    return render(
        request,
        "shop/details.html",
        {
            "book": book,
            "by_author": listed.filter(author=book.author).exclude(pk=book.pk)[:4],
            "related": listed.filter(category=book.category, sales_rank__gt=book.sales_rank)[
                :_RELATED
            ],
            "slot": Slot(request, lambda: [book.category.slug]),
        },
    )


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Answer `ok` if the shop can reach its database; the answer gets no page work."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok\n", content_type="text/plain")


# A cover changes only when its design changes, which also changes the ETag.
_CACHE = "public, max-age=604800, immutable"


@require_safe
def cover(request: HttpRequest, book_id: int) -> HttpResponse:
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
