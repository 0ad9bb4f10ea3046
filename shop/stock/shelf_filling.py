"""Changes of the catalogue's size, which add or remove books while the shop serves."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from django.db import connection, transaction

from shop import searching
from shop.catalogue.books import NewBook, books
from shop.models import SeedState

Progress = Callable[[str], None]

_BATCH = 10_000
COLUMNS = tuple(name for name in NewBook.__slots__ if name not in ("shelf", "author"))

_size: int | None = None


def size() -> int:
    """Return the number of books in the catalogue, 0 before the seeding.

    Calls read the database only until the number is known. Bought books with ids above this
    number still exist, but do not count.
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

    Accounts are kept, and so are the orders of people who signed up, with the books in these
    orders. Seeded accounts' orders are deleted if they contain a book with an id above `count`. The
    shop continues to serve. A second call waits for the first.
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
    """Delete the books with ids above `last`, and the seeded accounts' orders of such books.

    A book in another account's order stays.
    """
    take_back(beyond=last)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM shop_book WHERE id > %s AND NOT EXISTS
                (SELECT FROM shop_orderline WHERE book_id = shop_book.id)
            """,
            [last],
        )


_ORDERS = """
    SELECT shop_order.id FROM shop_order
    JOIN shop_customer ON shop_customer.id = shop_order.customer_id
    WHERE shop_customer.is_seeded
"""
_WITH_BOOKS_BEYOND = """
    AND EXISTS (
        SELECT FROM shop_orderline line
        WHERE line.order_id = shop_order.id AND line.book_id > %(last)s
    )
"""


def take_back(beyond: int | None = None) -> int:
    """Remove the seeded accounts' orders, put the copies back in stock, and return the number of
    orders.

    With `beyond`, remove only the orders that contain a book with an id above `beyond`.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # No stock may be taken while copies are put back; people may still browse.
        cursor.execute("LOCK TABLE shop_order, shop_orderline, shop_book IN EXCLUSIVE MODE")
        cursor.execute(
            "CREATE TEMPORARY TABLE returned ON COMMIT DROP AS "
            + _ORDERS
            + ("" if beyond is None else _WITH_BOOKS_BEYOND),
            {"last": beyond},
        )
        cursor.execute(
            """
            UPDATE shop_book SET stock = stock + removed.copies
            FROM (
                SELECT book_id, sum(quantity) AS copies FROM shop_orderline
                WHERE order_id IN (SELECT id FROM returned) GROUP BY book_id
            ) removed
            WHERE shop_book.id = removed.book_id
            """
        )
        cursor.execute("DELETE FROM shop_orderline WHERE order_id IN (SELECT id FROM returned)")
        cursor.execute("DELETE FROM shop_order WHERE id IN (SELECT id FROM returned)")
        removed: int = cursor.rowcount
    return removed
