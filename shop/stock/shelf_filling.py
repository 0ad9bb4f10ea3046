"""Changes of the catalogue's size, which add or remove books while the shop serves."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from django.db import connection, transaction

from shop import searching
from shop.catalogue.books import NewBook, books
from shop.models import SeedState
from shop.stock import returns

Progress = Callable[[str], None]

_BATCH = 10_000
COLUMNS = tuple(name for name in NewBook.__slots__ if name not in ("shelf", "author"))

_size: int | None = None


def size() -> int:
    """Return the number of books in the catalogue (0 before seeding), read only once.

    Bought books with higher ids still exist, but do not count.
    """
    global _size
    if _size is None:
        _size = SeedState.objects.values_list("books", flat=True).first()
    return _size or 0


def known_size() -> int | None:
    """Return the number of books as last read, without a query; None before the first query."""
    return _size


def resize(count: int, progress: Progress) -> bool:
    """Shrink or extend the catalogue to its first `count` books; return whether anything changed.

    People's orders are kept with their books; seeded accounts' orders with a removed book are not.
    The shop continues to serve. A second call waits for the first.
    """
    global _size
    with transaction.atomic():
        state = SeedState.objects.select_for_update().get()
        before = state.books
        if count > before:
            _put(before, count, progress)
        elif count < before:
            progress(f"Taking {before - count:,} books off the shelves")
            _take_off(count)
        state.books = count
        state.save(update_fields=["books"])
    if count != before:
        progress("Tidying up the tables")
        with connection.cursor() as cursor:
            # Pages are fast only with current planner statistics and without dead rows.
            cursor.execute("VACUUM (ANALYZE)")
    _size = count
    return count != before


def _put(after: int, last: int, progress: Progress) -> None:
    """Add the books with the ids `after` + 1 … `last`."""
    for batch in _batches(islice(books(count=last), after, None)):
        progress(f"Putting books on the shelves: {batch[-1].id:,} of {last:,}")
        _insert(batch)


def _batches(new: Iterator[NewBook]) -> Iterator[list[NewBook]]:
    """Yield batches of books. A batch is generated while the database stores the previous one."""
    with ThreadPoolExecutor(1, thread_name_prefix="printer") as printer:
        coming = printer.submit(lambda: list(islice(new, _BATCH)))
        while batch := coming.result():
            coming = printer.submit(lambda: list(islice(new, _BATCH)))
            yield batch


def _insert(batch: list[NewBook]) -> None:
    columns = ", ".join(COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE new_book ON COMMIT DROP AS "
            f"SELECT {columns}, '' AS shelf, '' AS author FROM shop_book WITH NO DATA"
        )
        with cursor.copy(f"COPY new_book ({columns}, shelf, author) FROM STDIN") as copy:
            for book in batch:
                values = [getattr(book, name) for name in COLUMNS]
                copy.write_row([*values, book.shelf, book.author])
        cursor.execute(
            "INSERT INTO shop_author (name) SELECT DISTINCT author FROM new_book ORDER BY author "
            "ON CONFLICT (name) DO NOTHING"
        )
        # The search column is filled now, because a later update would write every row twice.
        cursor.execute(
            f"""
            INSERT INTO shop_book ({columns}, category_id, author_id, search)
            SELECT {", ".join(f"new_book.{name}" for name in COLUMNS)},
                   shop_category.id, shop_author.id, {searching.VECTOR_SQL}
            FROM new_book
            JOIN shop_category ON shop_category.slug = shelf
            JOIN shop_author ON shop_author.name = author
            ORDER BY new_book.id
            ON CONFLICT (id) DO NOTHING  -- a book that was bought stays
            """
        )
        cursor.execute("DROP TABLE new_book")


def _take_off(last: int) -> None:
    """Delete the books with ids above `last`, except books that people have bought."""
    returns.take_back(beyond=last)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM shop_book WHERE id > %s AND NOT EXISTS
                (SELECT FROM shop_orderline WHERE book_id = shop_book.id)
            """,
            [last],
        )
