"""The removal of the seeded accounts' orders; orders of people who signed up are kept."""

from django.db import connection, transaction

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
    """Remove the seeded accounts' orders, put the copies back, and return the number.

    With `beyond`, remove only the orders that contain a book with a higher id.
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
