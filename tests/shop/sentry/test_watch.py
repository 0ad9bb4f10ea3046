"""The state of each request, without a server: which queries may be stopped, and when."""

from contextlib import nullcontext

import pytest

from shop import sentry
from shop.sentry.watch import Watch, set_current


@pytest.fixture
def watching(peers):
    """Return a function that makes a request of this thread and returns its watch."""

    def watching(cancels=True):
        watch = Watch(peers[0].fileno(), cancels=cancels)
        set_current(watch)
        return watch

    yield watching
    set_current(None)


@pytest.fixture
def grown():
    """Return a function for the growth of the meter's counts since the test began."""
    before = sentry.snapshot()
    return lambda: {name: value - before[name] for name, value in sentry.snapshot().items()}


def leave(watch, peers):
    peers[1].close()
    with watch.lock:
        watch.client_left()


def test_outside_a_request_nothing_happens():
    assert sentry.current() is None
    sentry.check()
    sentry.commit_point()


def test_who_stays_is_counted_nowhere(watching, grown):
    watch = watching()
    assert sentry.current() is watch
    watch.view_is_known(True)
    sentry.check()
    sentry.commit_point()
    watch.finish()
    assert set(grown().values()) == {0}


def test_the_commit_point_asks_the_socket_itself(watching, peers, grown):
    """This also holds if the epoll thread has not had its turn yet."""
    watch = watching()
    watch.view_is_known(True)
    peers[1].close()
    sentry.check()
    with pytest.raises(sentry.ClientGone):
        sentry.commit_point()
    watch.finish()
    assert (grown()["disconnects"], grown()["interrupted"]) == (1, 1)


def test_after_the_commit_point_nothing_stops_it(watching, peers, grown):
    watch = watching()
    watch.view_is_known(True)
    sentry.commit_point()
    leave(watch, peers)
    sentry.check()
    sentry.commit_point()
    assert watch.begin_query(None)
    watch.end_query(was_cancelled=False)
    watch.finish()
    assert grown()["finished"] == 1
    assert grown()["kept_cpu_s"] > 0
    assert grown()["wasted_cpu_s"] == 0


def test_a_request_that_waited_in_vain_is_not_begun(watching, peers, grown):
    watch = watching()
    peers[1].close()
    watch.look()
    with pytest.raises(sentry.ClientGone):
        watch.view_is_known(True)
    watch.finish()
    assert (grown()["disconnects"], grown()["interrupted"]) == (1, 1)


def test_looking_again_counts_nobody_twice(watching, peers, grown):
    watch = watching()
    watch.look()
    assert not watch.gone
    peers[1].close()
    watch.look()
    watch.look()
    leave(watch, peers)
    watch.finish()
    assert grown()["disconnects"] == 1


def test_until_its_view_is_known_a_request_is_not_stopped(watching, peers):
    watch = watching()
    leave(watch, peers)
    sentry.check()
    with pytest.raises(sentry.ClientGone):
        watch.view_is_known(True)


@pytest.mark.parametrize(("cancels", "may_cancel"), [(False, True), (True, False)])
def test_what_may_not_be_stopped_runs_on(watching, peers, grown, cancels, may_cancel):
    watch = watching(cancels)
    watch.view_is_known(may_cancel)
    leave(watch, peers)
    sentry.check()
    sentry.commit_point()
    watch.finish()
    spent = "wasted" if may_cancel else "kept"
    assert grown()["finished"] == 1
    assert grown()[f"{spent}_cpu_s"] > 0
    assert grown()["unanswered_cpu_s"] > 0
    assert sum(value > 0 for name, value in grown().items() if name.endswith("cpu_s")) == 2


def test_database_time_is_parted_where_the_client_left(watching, peers, grown):
    watch = watching(cancels=False)
    watch.view_is_known(True)
    watch.begin_query(None)
    leave(watch, peers)
    watch.end_query(was_cancelled=False)
    watch.begin_query(None)
    watch.end_query(was_cancelled=False)
    watch.finish()
    assert grown()["unanswered_database_s"] > 0
    assert grown()["wasted_database_s"] > 0


def test_finishing_twice_counts_once(watching, peers, grown):
    watch = watching()
    leave(watch, peers)
    watch.finish()
    watch.finish()
    assert grown()["finished"] == 1


@pytest.mark.parametrize(
    ("decorator", "method", "stops"),
    [(sentry.cancellable, "POST", True), (sentry.protected, "GET", False)],
)
def test_decorators_say_it_through_other_decorators(watching, peers, rf, decorator, method, stops):
    from django.views.decorators.cache import never_cache

    watch = watching()
    leave(watch, peers)
    middleware = sentry.SentryMiddleware(lambda request: None)
    view = never_cache(decorator(lambda request: None))
    with pytest.raises(sentry.ClientGone) if stops else nullcontext():
        middleware.process_view(rf.generic(method, "/"), view)
