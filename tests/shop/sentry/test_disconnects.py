"""Clients leave a real Gunicorn, in every way and in every state of their request."""

import http.client
import signal
import socket

import psutil
import pytest

from tests import certificate
from tests.shop.sentry import project as bare
from tests.waiting import until

WAYS = ("close", "reset", "half_close")
IN_SERVICE, QUEUED = 30, 20


@pytest.mark.parametrize("kind", ["threaded", "sync"])
@pytest.mark.parametrize("way", WAYS)
def test_the_query_of_a_client_that_left_is_gone(request, database, kind, way):
    project = request.getfixturevalue(kind)
    tag = f"{kind}-{way}"
    before = project.state()
    with project.client() as client:
        client.send(f"/sleep/{tag}/")
        database.expect_begun(tag)
        getattr(client, way)()
        database.expect_gone(tag)
        if way == "half_close":
            assert client.everything() == b""  # closed without a word: nobody reads it
    project.expect_counted(
        before, disconnects=1, cancels_attempted=1, cancels_effective=1, interrupted=1
    )


def test_all_leave_at_once_in_service_and_queued(threaded, database):
    """Requests that wait for a thread are not even begun."""
    before = threaded.state()
    clients = [threaded.client() for _ in range(IN_SERVICE + QUEUED)]
    for client in clients[:IN_SERVICE]:
        client.send("/sleep/crowd/")
    database.expect_begun("crowd", IN_SERVICE)
    for client in clients[IN_SERVICE:]:
        client.send("/sleep/crowd-queued/")
    for client in reversed(clients):
        client.close()
    database.expect_gone("crowd")
    after = threaded.expect_counted(
        before,
        disconnects=IN_SERVICE + QUEUED,
        interrupted=IN_SERVICE + QUEUED,
        cancels_attempted=IN_SERVICE,
        cancels_effective=IN_SERVICE,
    )
    assert after["watching"] == 1
    assert after["unanswered_database_s"] > before["unanswered_database_s"]


def test_a_stream_is_watched_to_its_end(threaded, database):
    before = threaded.state()
    with threaded.client() as client:
        client.send("/stream/streamed/")
        database.expect_begun("streamed")
        client.half_close()
        database.expect_gone("streamed")
        assert client.everything().endswith(b"\r\n6\r\nfirst\n\r\n")
    threaded.expect_counted(before, disconnects=1, interrupted=1, cancels_effective=1)


@pytest.mark.parametrize("kind", ["threaded", "sync"])
def test_work_without_queries_ends_at_its_next_check(request, database, kind):
    project = request.getfixturevalue(kind)
    before = project.state()
    with project.client() as client:
        client.send(f"/burn/{kind}/")
        until(lambda: database.locked(1), "the page has its lock")
        database.expect_gone("advisory_lock_shared(1)")
    project.expect_counted(before, disconnects=1, interrupted=1)
    assert database.locked(1) == 0  # what it does to clean up behind itself still runs


def test_whichever_database_it_is(threaded, database):
    before = threaded.state()
    with threaded.client() as client:
        client.send("/other/elsewhere/")
        database.expect_begun("elsewhere")
    database.expect_gone("elsewhere")
    threaded.expect_counted(before, interrupted=1, cancels_effective=1)


def test_data_behind_the_request_is_not_leaving(threaded, database):
    before = threaded.state()
    second = b"GET /echo/7/ HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n"
    with threaded.client() as client:
        client.send("/short/6/", behind=second)
        answers = client.everything()
    assert [answer[-1:] for answer in answers.split(b"HTTP/1.1 200 OK")[1:]] == [b"6", b"7"]
    assert threaded.state()["disconnects"] == before["disconnects"]
    with threaded.client() as client:
        client.send("/sleep/behind/", behind=second)
        database.expect_begun("behind")
        client.close()
    database.expect_gone("behind")
    threaded.expect_counted(before, disconnects=1, interrupted=1, cancels_effective=1)


def test_nothing_is_watched_between_requests(threaded):
    before = threaded.state()
    kept = [
        http.client.HTTPConnection("127.0.0.1", threaded.port, timeout=bare.PATIENCE_S)
        for _ in range(5)
    ]
    for number, client in enumerate(kept):
        client.request("GET", f"/echo/{number}/")
        assert client.getresponse().read() == str(number).encode()
    assert threaded.state()["watching"] == 1  # the request that asks
    for client in kept:
        client.close()
    assert threaded.state()["disconnects"] == before["disconnects"]


@pytest.mark.parametrize(
    ("path", "method"), [("/write/unsafe/", "POST"), ("/guarded/protected/", "GET")]
)
def test_what_may_not_be_cancelled_is_finished(threaded, database, path, method):
    (key,) = (part for part in path.split("/") if part in ("unsafe", "protected"))
    before = threaded.state()
    with threaded.client() as client, database.holding(4):
        client.send(path, method)
        database.expect_begun(f"{key} waits")
        client.close()
        threaded.expect_counted(before, disconnects=1)
    after = threaded.expect_counted(before, disconnects=1, finished=1)
    assert after["cancels_attempted"] == before["cancels_attempted"]
    assert after["kept_database_s"] > before["kept_database_s"]
    assert after["wasted_database_s"] == before["wasted_database_s"]
    assert database.written(key) == [key]


class TestCommitPoint:
    def test_who_leaves_before_it_has_changed_nothing(self, threaded, database):
        before = threaded.state()
        with threaded.client() as client, database.holding(2):
            client.send("/transact/early/", "POST")
            database.expect_begun("early before")
            client.close()
            database.expect_gone("early")
        threaded.expect_counted(before, interrupted=1, cancels_effective=1)
        assert database.written("early") == []

    def test_who_leaves_after_it_has_all_of_it(self, threaded, database):
        before = threaded.state()
        with threaded.client() as client, database.holding(3):
            client.send("/transact/late/", "POST")
            database.expect_begun("late behind")
            client.close()
            threaded.expect_counted(before, disconnects=1)
        threaded.expect_counted(before, finished=1)
        assert database.written("late") == ["late", "late, finished"]
        assert threaded.state()["cancels_attempted"] == before["cancels_attempted"]

    def test_who_stays_gets_an_answer(self, threaded, database):
        assert threaded.request("/transact/stayed/", "POST") == (200, "done")
        assert database.written("stayed") == ["stayed", "stayed, finished"]


class TestModes:
    @pytest.fixture
    def mode(self, threaded):
        def mode(wanted):
            assert threaded.request(f"/mode/{wanted}/") == (200, wanted)

        yield mode
        mode("cancel")

    def test_watching_counts_what_cancelling_would_save(self, threaded, database, mode):
        mode("watch")
        before = threaded.state()
        with threaded.client() as client, database.holding(2):
            client.send("/transact/watched/", "POST")
            database.expect_begun("watched before")
            client.half_close()
            threaded.expect_counted(before, disconnects=1)
        after = threaded.expect_counted(before, finished=1, interrupted=0, cancels_attempted=0)
        assert database.written("watched") == ["watched", "watched, finished"]
        assert after["wasted_cpu_s"] > before["wasted_cpu_s"]
        assert after["wasted_database_s"] > before["wasted_database_s"]
        assert after["kept_cpu_s"] == before["kept_cpu_s"]

    @pytest.mark.parametrize("kind", ["threaded", "sync"])
    def test_a_half_closed_connection_is_answered_in_full_when_watching(self, request, kind):
        """A proxy does this when its customer has left: it half-closes right behind the request."""
        project = request.getfixturevalue(kind)
        assert project.request("/mode/watch/") == (200, "watch")
        before = project.state()
        try:
            with project.client() as client:
                client.send("/work/200/").half_close()
                answer = client.everything()
            after = project.expect_counted(before, disconnects=1, finished=1, interrupted=0)
        finally:
            project.request("/mode/cancel/")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert body == b"200"
        wasted_s = after["wasted_cpu_s"] - before["wasted_cpu_s"]
        unanswered_s = after["unanswered_cpu_s"] - before["unanswered_cpu_s"]
        assert wasted_s + unanswered_s > 0.199
        assert after["kept_cpu_s"] == before["kept_cpu_s"]

    @pytest.mark.parametrize("wanted", ["watch", "cancel"])
    def test_who_had_left_before_the_page_began(self, sync, database, wanted):
        """One worker is kept busy: the whole request and its end are there before it is read."""
        assert sync.request(f"/mode/{wanted}/") == (200, wanted)
        before = sync.state()
        key = f"waited-{wanted}"
        try:
            with sync.client() as first, sync.client() as orphan, sync.client() as page:
                with database.holding(4):
                    first.send(f"/guarded/{key}-first/")
                    database.expect_begun(f"{key}-first waits")
                    orphan.send("/work/200/").half_close()
                    page.send(f"/write/{key}/", "GET").half_close()
                assert b"200 OK" in first.everything()
                answers = [orphan.everything(), page.everything()]
            watching = wanted == "watch"
            counts = {"finished" if watching else "interrupted": 2}
            after = sync.expect_counted(before, disconnects=2, cancels_attempted=0, **counts)
        finally:
            sync.request("/mode/cancel/")
        wasted_s = after["wasted_cpu_s"] - before["wasted_cpu_s"]
        unanswered_s = after["unanswered_cpu_s"] - before["unanswered_cpu_s"]
        if watching:
            assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * 2
            assert database.written(key) == [key, f"{key}-first"]
            assert wasted_s > 0.199
        else:
            assert answers == [b"", b""]
            assert database.written(key) == [f"{key}-first"]
            assert wasted_s < 0.199
        assert unanswered_s < 0.02  # nothing but the looking: tens of microseconds

    def test_off_sees_nothing(self, threaded, database, mode):
        mode("off")
        before = threaded.state()
        assert before["watching"] == 0
        with threaded.client() as client, database.holding(3):
            client.send("/transact/unseen/", "POST")
            database.expect_begun("unseen behind")
        until(lambda: len(database.written("unseen")) == 2, "the request finished")
        assert threaded.state()["disconnects"] == before["disconnects"]


@pytest.mark.parametrize("kind", ["threaded", "sync"])
def test_nobody_is_told_of_it(request, kind):
    """Leaving is not an error: there is no line in Gunicorn's or Django's log.

    An exception is a database so busy that it did not confirm in time, as on a test machine.
    """
    lines = request.getfixturevalue(kind).said().splitlines()
    unconfirmed = "could not be cancelled: cancellation timeout expired"
    assert [line for line in lines if "[INFO]" not in line and unconfirmed not in line] == []


def test_processes_that_are_forked_after_loading(tmp_path, appliance_database, database):
    """Each has a separate thread; when one is killed, the server ends its query itself."""
    bare.make(tmp_path, appliance_database, SENTRY_DATABASE_CHECK_S=0.2)
    arguments = ("--preload", "--workers", "2", "--threads", "8")
    with bare.served(tmp_path, *arguments) as project:
        clients = [project.client().send("/sleep/forked/") for _ in range(8)]
        database.expect_begun("forked", 8)
        for client in clients:
            client.close()
        database.expect_gone("forked")
        with project.client() as client:
            client.send("/sleep/orphaned/")
            database.expect_begun("orphaned")
            for worker in psutil.Process(project.process.pid).children():
                worker.send_signal(signal.SIGKILL)
            database.expect_gone("orphaned")


def test_a_server_that_stops_does_not_wait_for_the_sentry(tmp_path, appliance_database, database):
    bare.make(tmp_path, appliance_database)
    with bare.served(tmp_path, "--threads", "4", "--graceful-timeout", "60") as project:
        with project.client() as client:
            client.send("/sleep/leaving/")
            database.expect_begun("leaving")
            client.close()
            project.process.send_signal(signal.SIGTERM)
            database.expect_gone("leaving")
        assert project.process.wait(bare.PATIENCE_S) == 0


def test_peers_on_a_unix_socket(tmp_path, appliance_database, database):
    bare.make(tmp_path, appliance_database)
    path = str(tmp_path / "shop.socket")
    with bare.served(tmp_path, "--threads", "4", "--bind", f"unix:{path}"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"GET /sleep/unix/ HTTP/1.1\r\nHost: shop\r\n\r\n")
            database.expect_begun("unix")
        database.expect_gone("unix")


@certificate.needs_openssl
def test_peers_on_tls(tmp_path, appliance_database, database):
    """Without a proxy in front, Gunicorn serves TLS itself."""
    bare.make(tmp_path, appliance_database)
    made = certificate.make(tmp_path)
    arguments = ("--threads", "4", "--keyfile", str(made.key), "--certfile", str(made.chain))
    context = made.for_client()
    with bare.served(tmp_path, *arguments, tls=context) as project:
        before = project.state()
        with project.client() as client:
            client.socket = context.wrap_socket(client.socket)
            client.send("/sleep/secret/")
            database.expect_begun("secret")
            client.close()
        database.expect_gone("secret")
        project.expect_counted(before, interrupted=1, cancels_effective=1)
