"""A cancel hits its query or none: on a real pool, and step by step."""

import http.client
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from shop import sentry
from shop.sentry import queries
from shop.sentry.watch import Watch, set_current
from tests.shop.sentry import project as bare
from tests.waiting import until

LATER_REQUESTS = 1000
STAYING, LEAVING, CANCELS = 4, 10, 50


@pytest.mark.timeout(600)
def test_none_of_a_thousand_later_requests_is_hit(threaded):
    """Staying clients send short queries on the connections of clients that left during a query."""
    before = threaded.state()
    over = threading.Event()
    answers = []

    def leave(number):
        """Stay once to measure the time of an answer, and leave before that time in the
        next round."""
        rng = random.Random(number)
        while not over.is_set():
            started_s = time.monotonic()
            threaded.request("/linger/")
            answer_s = time.monotonic() - started_s
            with threaded.client() as client:
                client.send("/linger/")
                over.wait(rng.uniform(0, 1.2 * answer_s))
                rng.choice((client.close, client.reset))()

    def stay():
        connection = http.client.HTTPConnection("127.0.0.1", threaded.port, timeout=bare.PATIENCE_S)
        while not over.is_set():
            i = len(answers)
            connection.request("GET", f"/echo/{i}/" if i % 4 else f"/short/{i}/")
            response = connection.getresponse()
            answers.append((response.status, response.read().decode()) == (200, str(i)))
        connection.close()

    def effective():
        return threaded.state()["cancels_effective"] - before["cancels_effective"]

    with ThreadPoolExecutor(STAYING + LEAVING) as pool:
        tasks = [pool.submit(leave, number) for number in range(LEAVING)]
        tasks += [pool.submit(stay) for _ in range(STAYING)]
        try:
            until(lambda: len(answers) >= LATER_REQUESTS, "the later requests answered", 200)
            until(lambda: effective() >= CANCELS, f"{CANCELS} cancels", 200)
        finally:
            over.set()
        for task in tasks:
            task.result()
    assert all(answers)

    def is_settled():
        state = threaded.state()
        outcomes = ("cancels_effective", "cancels_too_late", "cancels_failed")
        return state["cancels_attempted"] == sum(state[outcome] for outcome in outcomes)

    until(is_settled, "every cancel over")
    assert "Error" not in threaded.said()


@pytest.fixture
def peers():
    """Yield both ends of a connection: the end that is watched and the end that leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
    yield served, client
    served.close()
    client.close()


@pytest.fixture
def watch(peers):
    """Yield a request of this thread that may be cancelled."""
    watch = Watch(peers[0].fileno(), cancels=True)
    watch.view_is_known(True)
    set_current(watch)
    yield watch
    set_current(None)


@pytest.fixture
def session(appliance_database, django_db_blocker):
    """Yield a separate Django connection with the sentry's wrapper."""
    with django_db_blocker.unblock():
        connection = connections.create_connection("default")
        queries.wrap(connection)
        connection.ensure_connection()
        yield connection
        connection.close()


def ask(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def leaves(watch):
    with watch.lock:
        return watch.client_left()


class TestStepByStep:
    def test_a_query_is_not_left_while_its_cancel_is_under_way(self, watch):
        asked, answered, left = threading.Event(), threading.Event(), threading.Event()

        def send(*, timeout):
            asked.set()
            assert answered.wait(bare.PATIENCE_S)

        watch.begin_query(send)
        cancel = leaves(watch)
        canceller = threading.Thread(target=watch.cancel, args=(cancel, 5.0))
        canceller.start()
        assert asked.wait(bare.PATIENCE_S)

        def leave():
            watch.end_query(was_cancelled=True)
            left.set()

        leaver = threading.Thread(target=leave)
        leaver.start()
        assert not left.wait(0.05)
        answered.set()
        assert left.wait(bare.PATIENCE_S)
        canceller.join()
        leaver.join()

    def test_a_cancel_whose_query_has_ended_is_not_sent(self, watch):
        sent = []

        def send(*, timeout):
            sent.append(timeout)

        watch.begin_query(send)
        cancel = leaves(watch)
        assert watch.end_query(was_cancelled=False) is cancel
        watch.cancel(cancel, 1.0)
        with pytest.raises(sentry.ClientGone):
            watch.begin_query(send)
        watch.begin_query(send)  # the clean-up's
        watch.cancel(cancel, 1.0)
        assert sent == []

    def test_a_cancel_that_came_too_early_is_repeated(self, watch):
        sent, cancels = [], []

        def send(*, timeout):
            sent.append(timeout)
            if len(sent) == 2:
                cancels[0].left.set()  # as end_query does

        watch.begin_query(send)
        cancels.append(leaves(watch))
        watch.cancel(cancels[0], 5.0)
        assert len(sent) == 2
        assert not watch.end_query(was_cancelled=True).unconfirmed

    def test_one_that_was_not_confirmed_is_repeated_and_remembered(self, watch):
        sent, cancels = [], []

        def send(*, timeout):
            sent.append(timeout)
            if len(sent) == 1:
                raise TimeoutError
            cancels[0].left.set()

        watch.begin_query(send)
        cancels.append(leaves(watch))
        watch.cancel(cancels[0], 5.0)
        assert sent == [5.0, 5.0]
        assert watch.end_query(was_cancelled=True).unconfirmed

    def test_told_once_so_that_a_page_can_clean_up(self, watch):
        leaves(watch)
        with pytest.raises(sentry.ClientGone):
            watch.begin_query(None)
        watch.begin_query(None)
        watch.end_query(was_cancelled=False)
        with pytest.raises(sentry.ClientGone):
            sentry.check()

    def test_an_error_of_its_own_stays_what_it_is(self, watch, session):
        with pytest.raises(Exception, match="division by zero"):
            ask(session, "SELECT 1 / 0")


def test_a_query_that_ended_by_itself_is_a_result(watch, session):
    """The page must learn the query's result; the next query does not begin."""
    before = sentry.snapshot()["cancels_too_late"]

    def during(execute, *arguments):
        result = execute(*arguments)
        leaves(watch)
        return result

    with session.execute_wrapper(during):
        assert ask(session, "SELECT 5") == 5
    assert sentry.snapshot()["cancels_too_late"] == before + 1
    with pytest.raises(sentry.ClientGone):
        ask(session, "SELECT 6")


def test_a_cancelled_transaction_is_rolled_back_and_its_session_stays(watch, session):
    session.set_autocommit(False)
    with ThreadPoolExecutor(1) as pool:
        pid = ask(session, "SELECT pg_backend_pid()")

        def cancel_soon(execute, *arguments):
            pool.submit(watch.cancel, leaves(watch), 60.0)
            return execute(*arguments)

        with session.execute_wrapper(cancel_soon), pytest.raises(sentry.ClientGone):
            ask(session, "SELECT 1 FROM pg_sleep(300)")
    session.rollback()
    set_current(None)
    assert ask(session, "SELECT pg_backend_pid()") == pid


def test_a_cancel_the_database_does_not_confirm_costs_the_session(watch, session, database):
    """PostgreSQL's postmaster stands still while one of its backends runs a query."""
    before = sentry.snapshot()
    pid = ask(session, "SELECT pg_backend_pid()")
    with ThreadPoolExecutor(1) as pool:

        def cancel_soon(execute, *arguments):
            cancel = leaves(watch)
            asking = pool.submit(watch.cancel, cancel, 0.1)
            until(
                lambda: watch.lock.locked() or asking.done(),
                every_s=0.002,
                what="the database being asked",
            )
            return execute(*arguments)

        with (
            database.postmaster_standing_still(),
            session.execute_wrapper(cancel_soon),
            pytest.raises(sentry.ClientGone),
        ):
            ask(session, "SELECT 1 FROM pg_sleep(0.01)")
    assert session.connection is None
    assert sentry.snapshot()["cancels_failed"] == before["cancels_failed"] + 1
    until_s = time.monotonic() + 0.3
    while time.monotonic() < until_s:  # the late cancel is on its way now
        assert ask(session, "SELECT pg_backend_pid()") != pid
