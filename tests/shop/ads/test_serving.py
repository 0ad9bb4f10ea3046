"""The ad server in its real form, with Gunicorn."""

import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from common import ports
from tests.conftest import REPOSITORY
from tests.shop.ads.conftest import RunningAds, under_its_settings
from tests.shop.largest_requests import LARGEST, status_of
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("what", LARGEST)
def test_what_the_gateway_lets_through_is_read(ads, what):
    assert status_of(LARGEST[what], urlsplit(ads.url).port) == 404


@contextmanager
def relayed(port, target):
    """Relay `port` to the port `target` of this machine until the block ends."""

    def copy(source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def accept(listener, ends):
        with suppress(OSError):
            while True:
                near = ends.enter_context(listener.accept()[0])
                far = ends.enter_context(socket.create_connection(("127.0.0.1", target)))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    with ExitStack() as ends, socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=accept, args=(listener, ends))
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_it_waits_for_a_postgresql_that_is_away_and_says_so_in_one_line(ads_environment, tmp_path):
    """It comes up by itself when PostgreSQL is back."""
    postgres_port, ads_port = ports.free(2)
    environment = ads_environment | {
        "DOORBUSTER_POSTGRES_PORT": str(postgres_port),
        "DOORBUSTER_ADS_PORT": str(ads_port),
    }
    log = tmp_path / "ads.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "shop.ads", "serve"],
            cwd=REPOSITORY,
            env=environment,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        running = RunningAds(ads_port, environment, process)

        def answers():
            with suppress(OSError):
                return running.get("/ads/health").status == 200
            return False

        try:
            until(lambda: "waits for PostgreSQL" in log.read_text(), "the line in its log")
            assert not answers()
            [_] = log.read_text().splitlines()
            with relayed(postgres_port, int(ads_environment["DOORBUSTER_POSTGRES_PORT"])):
                until(answers, "its answer")
                assert "Traceback" not in log.read_text()
                process.terminate()
                process.wait(60)
        finally:
            process.kill()


def test_rows_of_processes_that_have_ended_are_removed(ads, ads_environment):
    """The table ads_server keeps the processes of the last day."""
    ancient, recent = (f"00000000-0000-0000-0000-00000000000{digit}" for digit in (1, 2))
    for id, days in ((ancient, 2), (recent, 0)):
        ads.rows(
            "INSERT INTO ads_server (id, sequence, started, reported) "
            "VALUES (%s, 5, now() - interval '9 days', now() - %s * interval '1 day')",
            id,
            days,
        )
    try:
        printed = under_its_settings(ads_environment, _FORGET)
        assert printed.split() == ["2", "added"]
        left = {str(id) for (id,) in ads.rows("SELECT id FROM ads_server")}
        assert recent in left
        assert ancient not in left
    finally:
        ads.rows("DELETE FROM ads_server WHERE id = %s", recent)


# A process whose row was removed while it had nothing to report, reports again.
_FORGET = """
import django
django.setup()
from datetime import timedelta
from django.db import transaction
from django.utils import timezone
from shop.ads.delivery import flushing, loading
from shop.ads.delivery.ledger import Ledger
from shop.ads.models import Server

with transaction.atomic():
    loaded = loading.everything()
ledger = Ledger(loaded.inventory, loaded.delivered, 100)
writer = flushing.Writer(ledger, loaded.names, loaded.revision)
rows = iter(range(len(loaded.inventory)))
def report():
    next(row for row in rows if ledger.take(row))
    writer.exchange()
report()
old = timezone.now() - timedelta(days=3)
Server.objects.filter(pk=writer._server).update(started=old, reported=old)
print(flushing.forget_silent(timezone.now()))
report()
print("added" if Server.objects.get(pk=writer._server).sequence == 2 else "lost")
Server.objects.filter(pk=writer._server).delete()
"""
