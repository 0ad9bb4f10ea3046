"""The writer thread, which exchanges deliveries with the database and renews contracts.

Each report has a number, which its transaction also writes. If the answer to a commit is lost, the
number in the database shows whether the report must be sent again.
"""

import logging
import threading
import time
import uuid
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from shop.ads.delivery import loading, metrics, renewing
from shop.ads.delivery.ledger import Ledger, Report
from shop.ads.delivery.loading import Names
from shop.ads.models import Server, next_revision

_logger = logging.getLogger(__name__)


FORGOTTEN_AFTER = timedelta(days=1)
"""The time without a report after which the row of a process is removed from `ads_server`."""


def forget_silent(now: datetime) -> int:
    """Remove the rows of processes without a report for FORGOTTEN_AFTER; return their number."""
    silent = Server.objects.filter(started__lt=now - FORGOTTEN_AFTER).exclude(
        reported__gte=now - FORGOTTEN_AFTER
    )
    return silent.delete()[0]


class Writer:
    """The writer of a process's reports; only one thread at a time may call `exchange`."""

    def __init__(self, ledger: Ledger, names: Names, revision: int) -> None:
        self.ledger = ledger
        self.names = names
        self.failures = 0
        self._revision = revision
        self._server = uuid.uuid4()
        self._renews_s = time.monotonic() + renewing.LOOKED_AFTER_S
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, interval_s: float) -> None:
        """Start the thread, which exchanges counts once per interval, or earlier when
        `ledger.hurry` is set.
        """
        self._thread = threading.Thread(
            target=self._run, args=(interval_s,), name="ads-writer", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Report the unreported counts, end the thread, and wait for its end."""
        self._stopping.set()
        self.ledger.hurry.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, interval_s: float) -> None:
        while not self._stopping.is_set():
            self.ledger.hurry.wait(interval_s)
            if not self._try() and not self._stopping.is_set():
                # The database is unavailable, so the next try comes after the interval.
                self._stopping.wait(interval_s)
        self._try()
        self._try()  # the first exchange may have repeated an older report
        connection.close()

    def _try(self) -> bool:
        is_done = self._exchanged()
        metrics.exchanged(
            is_done=is_done,
            banners=len(self.ledger.view.inventory),
            unreported=self.ledger.unreported(),
        )
        return is_done

    def _exchanged(self) -> bool:
        try:
            self.exchange()
            if time.monotonic() >= self._renews_s:
                renewing.renew(timezone.now())
                forget_silent(timezone.now())
                self._renews_s = time.monotonic() + renewing.LOOKED_AFTER_S
        # This thread must continue: without reports, banners are soon no longer shown.
        except Exception:
            self.failures += 1
            if self.failures == 1:
                _logger.exception("Deliveries are not reported; they are kept and sent again")
            connection.close()  # after any fault the next try uses a new connection
            return False
        if self.failures:
            _logger.warning("Deliveries are reported again")
        self.failures = 0
        return True

    def exchange(self) -> None:
        """Report the counts since the last report, and read the changes by other processes."""
        report = self.ledger.report()
        with transaction.atomic():
            if report is not None:
                self._add(report)
            revision = loading.revision()
            if revision == self._revision:
                return
            banners = loading.changed_since(self._revision)
            totals = loading.totals_since(self._revision)
            totals |= loading.totals_of([one.id for one in banners if one.id not in totals])
            names = loading.names()
        self.ledger.learn(report, banners, totals)
        self.names = names
        self._revision = revision

    def _add(self, report: Report) -> None:
        revision = next_revision()
        # Not kept in memory, because a rollback of the report also removes the row. If the row is
        # missing, the previous report was acknowledged.
        server, _ = Server.objects.select_for_update().get_or_create(
            id=self._server, defaults={"sequence": report.number - 1}
        )
        if server.sequence == report.number:
            return  # the report was added; only the answer was lost
        if server.sequence != report.number - 1:
            raise RuntimeError(f"report {report.number} follows {server.sequence}")
        with connection.cursor() as cursor:
            cursor.execute(
                """
                UPDATE ads_delivery
                SET delivered = ads_delivery.delivered + added.impressions,
                    clicks = ads_delivery.clicks + added.clicks, revision = %s
                FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[])
                    AS added (banner, impressions, clicks)
                WHERE banner_id = added.banner
                """,
                [
                    revision,
                    list(report.counts),
                    [count.impressions for count in report.counts.values()],
                    [count.clicks for count in report.counts.values()],
                ],
            )
            cursor.execute(
                """
                INSERT INTO ads_placement (page_id, impressions, clicks)
                SELECT page, added.impressions, added.clicks
                FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[])
                    AS added (page, impressions, clicks)
                JOIN ads_page ON ads_page.id = page -- it may have been deleted
                ON CONFLICT (page_id) DO UPDATE
                SET impressions = ads_placement.impressions + EXCLUDED.impressions,
                    clicks = ads_placement.clicks + EXCLUDED.clicks
                """,
                [
                    list(report.pages),
                    [count.impressions for count in report.pages.values()],
                    [count.clicks for count in report.pages.values()],
                ],
            )
            cursor.execute(
                "UPDATE ads_server SET sequence = %s, reported = now() WHERE id = %s",
                [report.number, self._server],
            )
