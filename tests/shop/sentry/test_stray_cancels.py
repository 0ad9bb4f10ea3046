"""A cancel hits its query or none: on a real pool, and step by step."""

import http.client
import os
import random
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import psycopg
import pytest
from django.db import connections

from shop import sentry
from shop.sentry import queries
from shop.sentry.cancelling import Attempt, Canceller, CancelSession, cancel_together
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


class FakeSession:
    """A database session whose cancels call `send`, with the timeouts of these calls."""

    def __init__(self, send=lambda count: None):
        self.timeouts = []
        self._send = send

    def cancel_safe(self, *, timeout):
        self.timeouts.append(timeout)
        self._send(len(self.timeouts))


class TestStepByStep:
    def test_a_query_is_not_left_while_its_cancel_is_under_way(self, watch):
        asked, answered, left = threading.Event(), threading.Event(), threading.Event()

        def send(count):
            asked.set()
            assert answered.wait(bare.PATIENCE_S)

        watch.begin_query(FakeSession(send))
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
        session = FakeSession()
        watch.begin_query(session)
        cancel = leaves(watch)
        assert watch.end_query(was_cancelled=False) is cancel
        watch.cancel(cancel, 1.0)
        with pytest.raises(sentry.ClientGone):
            watch.begin_query(session)
        watch.begin_query(session)  # the clean-up's
        watch.cancel(cancel, 1.0)
        assert session.timeouts == []

    def test_a_cancel_that_came_too_early_is_repeated(self, watch):
        def send(count):
            if count == 2:
                cancel.left.set()  # as end_query does

        session = FakeSession(send)
        watch.begin_query(session)
        cancel = leaves(watch)
        watch.cancel(cancel, 5.0)
        assert session.timeouts == [5.0, 5.0]
        assert not watch.end_query(was_cancelled=True).unconfirmed

    def test_one_that_was_not_confirmed_is_repeated_and_remembered(self, watch):
        def send(count):
            if count == 1:
                raise TimeoutError
            cancel.left.set()

        session = FakeSession(send)
        watch.begin_query(session)
        cancel = leaves(watch)
        watch.cancel(cancel, 5.0)
        assert session.timeouts == [5.0, 5.0]
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


class Sleeper:
    """A query of five minutes whose client has left, in a thread and a session of its own."""

    def __init__(self, session, pool, database):
        self.session = session
        self.ends = pool.submit(self._sleep)
        database.expect_begun(self._tag)
        self.served, self.client = socket.socketpair()
        self.watch = Watch(self.served.fileno(), cancels=True)
        self.watch.view_is_known(True)
        self.watch.begin_query(session)
        self.attempt = Attempt(self.watch, leaves(self.watch))

    @property
    def _tag(self):
        return f"sleeper {self.session.info.backend_pid}"

    def _sleep(self):
        """Return the SQLSTATE with which the query ends."""
        try:
            self.session.execute(f"SELECT pg_sleep(300) -- {self._tag}")
        except psycopg.Error as error:
            return error.sqlstate
        return None

    @property
    def sqlstate(self):
        return self.ends.result(bare.PATIENCE_S)

    def close(self):
        with suppress(psycopg.Error):
            self.session.cancel_safe()
        self.ends.exception(bare.PATIENCE_S)
        self.served.close()
        self.client.close()


class TestTogether:
    """Queries that one call in a separate session cancels."""

    @pytest.fixture
    def connect(self, appliance_database):
        """Yield a function that opens sessions, which are closed at the end."""
        with ExitStack() as opened:
            yield lambda options="": opened.enter_context(bare.connect(appliance_database, options))

    @pytest.fixture
    def sleepers(self, connect, database):
        """Yield a function that starts some `Sleeper`s."""
        with ThreadPoolExecutor(4) as pool, ExitStack() as begun:

            def begin(count):
                made = [Sleeper(connect(), pool, database) for _ in range(count)]
                for one in made:
                    begun.callback(one.close)
                return made

            yield begin

    @pytest.fixture
    def canceller(self, connect):
        """Yield a session that can cancel."""
        made = CancelSession(connect())
        yield made
        made.close()

    def test_all_end_at_once(self, canceller, sleepers):
        asleep = sleepers(3)
        cancel_together([one.attempt for one in asleep], canceller, bare.PATIENCE_S)
        assert [one.sqlstate for one in asleep] == ["57014"] * 3
        for one in asleep:
            assert not one.watch.end_query(was_cancelled=True).unconfirmed

    def test_one_that_has_ended_is_left_alone(self, canceller, sleepers):
        """Its session may already run another query."""
        over, running = sleepers(2)
        over.watch.end_query(was_cancelled=False)
        cancel_together([over.attempt, running.attempt], canceller, bare.PATIENCE_S)
        assert running.sqlstate == "57014"
        assert not over.ends.done()

    def test_a_call_that_is_not_confirmed_costs_all_their_sessions(self, canceller, sleepers):
        """The late call could otherwise hit a later query of the same sessions."""
        asleep = sleepers(2)
        pid = canceller.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            cancel_together([one.attempt for one in asleep], canceller, 0.1)
            assert all(one.attempt.cancel.unconfirmed for one in asleep)
            assert not canceller.is_usable
            assert canceller.is_over()
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_a_session_that_the_server_ended_is_over(self, canceller, connect):
        assert not canceller.is_over()
        connect().execute("SELECT pg_terminate_backend(%s)", (canceller.pid,))
        until(canceller.is_over, "the end of the session noticed")

    def test_a_pooler_in_between_makes_it_unusable(self, connect):
        """With PgBouncer, psycopg knows other process numbers than PostgreSQL."""
        like = connect()
        like.execute("CREATE SCHEMA pooler")
        try:
            like.execute(
                "CREATE FUNCTION pooler.pg_backend_pid() RETURNS int LANGUAGE sql AS 'SELECT 0'"
            )
            like = connect("-c search_path=pooler,pg_catalog")
            made = CancelSession(like)
            assert not made.is_usable
            assert not made.is_over()
        finally:
            like.execute("DROP SCHEMA pooler CASCADE")

    def test_a_query_without_a_session_of_postgresql_is_cancelled_alone(self, peers):
        """The thread that cancels survives it, and cancels the next query."""
        canceller = Canceller()
        for _ in range(2):
            asked = threading.Event()
            one = Watch(peers[0].fileno(), cancels=True)
            one.view_is_known(True)
            one.begin_query(FakeSession(lambda count, it=asked: it.set()))
            cancel = leaves(one)
            canceller.cancel(one, cancel)
            assert asked.wait(bare.PATIENCE_S)
            one.end_query(was_cancelled=True)
            assert not cancel.unconfirmed
