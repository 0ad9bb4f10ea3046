"""The cost in µs of the sentry for a request whose customer stays, measured without a server."""

import socket
import timeit
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from bench import cancel_page
from shop import sentry
from shop.sentry.watch import Watch

_CALLS, _ROUNDS = 2_000, 15


def costs() -> dict[str, float]:
    """Return, by mode, the µs that the middleware adds to a request with one query."""
    response = HttpResponse()
    measured = {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
        request = HttpRequest()
        request.method = "GET"
        request.META = {"gunicorn.socket": served, "SERVER_PROTOCOL": "HTTP/1.1"}

        def page(request: HttpRequest) -> HttpResponse:
            middleware.process_view(request, cancel_page.wait)
            return response

        middleware = sentry.SentryMiddleware(page)
        for mode in sentry.MODES:
            sentry.set_mode(mode)
            measured[f"a request, mode {mode}"] = _least_us(lambda: middleware(request))
        watch = Watch(served.fileno(), cancels=True)
        measured["a query"] = _least_us(lambda: watch.begin_query(None) and watch.end_query(False))
        measured["check()"] = _least_us(sentry.check)
        served.close()
        client.close()
    return measured


def _least_us(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, number=_CALLS, repeat=_ROUNDS)) / _CALLS * 1e6
