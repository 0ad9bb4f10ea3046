"""A client's end of a connection is noticed; an event of another connection is ignored."""

import os
import socket
import threading

import pytest

from shop.sentry.sockets import SocketWatcher, has_hung_up
from tests.resetting import reset
from tests.shop.sentry.project import PATIENCE_S


class Watched:
    """The attributes of a request that the epoll thread needs; `left` is set when the client has
    left."""

    def __init__(self, fd):
        self.fd = fd
        self.lock = threading.Lock()
        self.finished = False
        self.left = threading.Event()

    def client_left(self):
        self.left.set()
        return "a query"


@pytest.fixture
def cancelled():
    return []


@pytest.fixture
def watcher(cancelled):
    watcher = SocketWatcher(on_cancel=lambda *what: cancelled.append(what))
    yield watcher
    assert len(watcher) == 0


WAYS = [socket.socket.close, lambda client: client.shutdown(socket.SHUT_WR), reset]


@pytest.mark.parametrize("leave", WAYS)
def test_every_way_of_leaving(peers, watcher, cancelled, leave):
    served, client = peers
    watched = Watched(served.fileno())
    watcher.add(watched)
    client.sendall(b"data that nobody reads")
    assert not has_hung_up(served.fileno())
    leave(client)
    assert watched.left.wait(PATIENCE_S)
    assert has_hung_up(served.fileno())
    watcher.remove(watched)
    with watched.lock:  # the thread is done with it
        pass
    later = Watched(served.fileno())
    watcher.add(later)  # by now it has called on_cancel, for it reports in turn
    assert later.left.wait(PATIENCE_S)
    watcher.remove(later)
    assert cancelled[0] == (watched, "a query")


def test_an_event_of_an_earlier_connection_is_not_believed(peers, watcher):
    """The kernel names a descriptor; its present connection is well, and stays watched."""
    served, client = peers
    watched = Watched(served.fileno())
    watcher.add(watched)
    watcher.event(watcher.epoll, watched.fd)
    assert not watched.left.is_set()
    client.close()
    assert watched.left.wait(PATIENCE_S)
    watcher.remove(watched)


def test_an_event_after_the_request_is_nobodys(peers, watcher):
    served, client = peers
    watched = Watched(served.fileno())
    watcher.add(watched)
    watcher.remove(watched)
    client.close()
    watcher.event(watcher.epoll, watched.fd)
    watched.finished = True
    watcher.watched[watched.fd] = watched  # as if the event had been read just before the end
    watcher.event(watcher.epoll, watched.fd)
    del watcher.watched[watched.fd]
    assert not watched.left.is_set()


def test_an_event_while_the_request_ends_is_nobodys(peers, watcher):
    """The request is not registered any more, but not finished yet."""
    served, _ = peers
    watched = Watched(served.fileno())
    watcher.add(watched)
    watcher.epoll.unregister(watched.fd)
    watcher.event(watcher.epoll, watched.fd)
    assert not watched.left.is_set()
    watcher.remove(watched)


def test_a_descriptor_that_is_another_connections_by_now_is_left_alone(peers, watcher):
    """A streamed response that was never closed is cleaned up late."""
    served, client = peers
    early = Watched(served.fileno())
    watcher.add(early)
    watcher.remove(early)
    later = Watched(served.fileno())
    watcher.add(later)
    watcher.remove(early)
    client.close()
    assert later.left.wait(PATIENCE_S)
    watcher.remove(later)


def test_a_descriptor_that_is_closed_is_refused(watcher):
    served, client = socket.socketpair()
    served.close()
    client.close()
    with pytest.raises(ValueError, match="negative"):
        watcher.add(Watched(served.fileno()))


def test_without_its_thread_nobody_is_watched_for_now_and_the_log_says_so_once(
    watcher, peers, monkeypatch, caplog
):
    served, client = peers

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            with pytest.raises(OSError, match="can't start new thread"):
                watcher.add(Watched(served.fileno()))
    (said,) = caplog.messages
    assert said == (
        "the sentry does not notice when clients leave until its thread starts: "
        "can't start new thread"
    )
    watched = Watched(served.fileno())
    watcher.add(watched)
    client.close()
    assert watched.left.wait(PATIENCE_S)
    watcher.remove(watched)


def test_what_cannot_be_polled_is_refused(watcher, tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(PermissionError):
        watcher.add(Watched(fd))
    os.close(fd)
