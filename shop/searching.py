"""Full-text search in the catalogue with PostgreSQL: weights, ranking, highlights."""

from dataclasses import dataclass

from django.contrib.postgres.search import SearchHeadline, SearchQuery, SearchRank
from django.core.paginator import Page, Paginator
from django.db.models import Count, F
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from shop.catalogue import spelling
from shop.models import Book, Category

CONFIGURATION = "english"
PER_PAGE = 20
# Matches in the title count most, then in author and subtitle, then in the description.
VECTOR_SQL = f"""
    setweight(to_tsvector('{CONFIGURATION}', title), 'A') ||
    setweight(to_tsvector('{CONFIGURATION}', subtitle || ' ' || author), 'B') ||
    setweight(to_tsvector('{CONFIGURATION}', description), 'D')
"""
# Characters that no catalogue text contains; after escaping, they become <mark>.
_START, _STOP = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class Results:
    """A page of found books with highlights, and up to five shelves with the most matches."""

    page: Page[Book]
    hits: list[tuple[Book, SafeString]]
    shelves: list[Category]
    suggestion: str | None = None
    """A corrected query that finds books, if the given query finds none."""


def search_books(query: str, page: str | None) -> Results:
    """Return the books that match a query of words, "phrases", `or` and `-not`."""
    words = SearchQuery(query, search_type="websearch", config=CONFIGURATION)
    matches = Book.objects.filter(search=words)
    ranked = (
        matches.select_related("author")
        .only("title", "author__name", "price_cents", "stock", "rating", "published")
        .annotate(
            relevance=SearchRank(F("search"), words),
            headline=SearchHeadline(
                "description",
                words,
                config=CONFIGURATION,
                start_sel=_START,
                stop_sel=_STOP,
                max_words=24,
                min_words=12,
            ),
        )
        .order_by("-relevance", "sales_rank")
    )
    shelves = (
        Category.objects.filter(books__search=words)
        .annotate(matches=Count("books"))
        .order_by("-matches", "name")[:5]
    )
    found = Paginator(ranked, PER_PAGE).get_page(page)
    hits = [
        # An annotation of the query above, which Paginator's types do not know.
        (book, highlighted(book.headline))  # type: ignore[attr-defined]
        for book in found
    ]
    if not found.paginator.count:
        return Results(found, hits, [], _suggestion(query))
    return Results(page=found, hits=hits, shelves=list(shelves))


def _suggestion(query: str) -> str | None:
    other = spelling.corrected(query)
    if other is None:
        return None
    words = SearchQuery(other, search_type="websearch", config=CONFIGURATION)
    return other if Book.objects.filter(search=words).exists() else None


def highlighted(headline: str) -> SafeString:
    """Return the headline as HTML, with the matching words in <mark>."""
    marked = escape(headline).replace(_START, "<mark>").replace(_STOP, "</mark>")
    return mark_safe(marked)
