"""The middleware, which watches a request until its response is complete, and its decorators."""

import errno
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeGuard, TypeVar, cast

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from . import configuration, queries, servers
from .cancelling import canceller
from .sockets import SocketWatcher
from .watch import ClientGone, Watch, current, set_current

_CLIENT_CLOSED_REQUEST = 499  # nginx's status, which appears only in access logs

View = TypeVar("View", bound=Callable[..., Any])
_MAY_CANCEL = "sentry_may_cancel"


def cancellable(view: View) -> View:
    """Allow the sentry to cancel this view, even on a POST.

    The view must write all its data in one transaction whose last statement is `commit_point()`.
    The view's other decorators must use functools.wraps.
    """
    setattr(view, _MAY_CANCEL, True)
    return view


def protected(view: View) -> View:
    """Forbid the sentry to cancel this view, even on a GET."""
    setattr(view, _MAY_CANCEL, False)
    return view


watcher = SocketWatcher(on_cancel=canceller.cancel)


def watching() -> int:
    return len(watcher)


class SentryMiddleware:
    """The sentry's middleware; it must be the first in MIDDLEWARE."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        """Read the settings; raise SettingRefused if one is invalid."""
        self.get_response = get_response
        self._methods = configuration.read().methods
        queries.install()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        watch = _begin(request)
        if watch is None:
            return self.get_response(request)
        try:
            response = self.get_response(request)
        except ClientGone:
            _finish(watch)
            return _answer_to_nobody()
        except BaseException:
            _finish(watch)
            raise
        if _is_made_while_sent(response):
            _watch_until_closed(response, watch)
        else:
            _finish(watch)
        return response

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: object) -> None:
        """Decide whether the request may be stopped, now that its view is known."""
        watch = current()
        if watch is not None:
            by_method = request.method in self._methods
            watch.view_is_known(getattr(view, _MAY_CANCEL, by_method))


def _begin(request: HttpRequest) -> Watch | None:
    """Begin to watch this request; return None in mode `off`, or if it cannot be watched."""
    left_over = current()
    if left_over is not None:  # a streamed response that was never closed
        _finish(left_over)
    mode = configuration.mode()
    if mode == configuration.OFF:
        return None
    socket = servers.socket_of(request.META)
    if socket is None:
        return None
    queries.install_in_thread()
    watch = Watch(socket.fileno(), cancels=mode == configuration.CANCEL)
    try:
        watcher.add(watch)
    except (OSError, ValueError):
        # The connection is already closed, so the next write fails, or the watching thread cannot
        # start.
        return None
    set_current(watch)
    # The client may have left while the request waited for its thread; a request that may be
    # stopped then does not begin.
    watch.look()
    return watch


def _finish(watch: Watch) -> None:
    """End the watch of a finished request. When this returns, no attempt to cancel is running."""
    set_current(None)
    watcher.remove(watch)
    watch.finish()


def _is_made_while_sent(response: HttpResponseBase) -> TypeGuard[StreamingHttpResponse]:
    """Return whether the application generates the content while the server sends it. A file is not
    watched, because the server sends it without the application.
    """
    return (
        isinstance(response, StreamingHttpResponse)
        and not response.is_async
        and getattr(response, "file_to_stream", None) is None
    )


def _hang_up() -> NoReturn:
    """Raise the error on which Gunicorn closes the connection without a line in the log."""
    raise BrokenPipeError(errno.EPIPE, "the client has left")


def _watch_until_closed(response: StreamingHttpResponse, watch: Watch) -> None:
    close = response.close

    def finish_and_close() -> None:
        if not watch.finished:
            _finish(watch)
        close()

    response.close = finish_and_close  # type: ignore[method-assign]
    content = cast(Iterator[bytes], response.streaming_content)  # see _is_made_while_sent
    response.streaming_content = _while_there(content, watch)


def _while_there(content: Iterator[bytes], watch: Watch) -> Iterator[bytes]:
    """Yield the parts of a streamed response until the request must stop."""
    try:
        for part in content:
            watch.check()
            yield part
            watch.check()
    except ClientGone:
        _hang_up()


def _nothing() -> Iterator[bytes]:
    _hang_up()
    yield b""


def _answer_to_nobody() -> StreamingHttpResponse:
    response = StreamingHttpResponse(
        _nothing(), status=_CLIENT_CLOSED_REQUEST, reason="Client Closed Request"
    )
    # Otherwise, Django logs a warning for each 4xx.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
