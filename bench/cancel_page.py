"""The Django project whose page the customers of `bench.cancel` leave, and the cost of the sentry
for a request whose customer stays."""

import os
import socket
import sys
import timeit
from collections.abc import Callable

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

from shop import sentry
from shop.sentry.watch import Watch

if not settings.configured:
    settings.configure(
        SECRET_KEY="bench",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        MIDDLEWARE=["shop.sentry.SentryMiddleware"],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "HOST": "127.0.0.1",
                "PORT": os.environ.get("BENCH_PORT", ""),
                "USER": os.environ.get("BENCH_USER", ""),
                "PASSWORD": os.environ.get("BENCH_PASSWORD", ""),
                "NAME": os.environ.get("BENCH_DATABASE", ""),
                "CONN_MAX_AGE": None,
            }
        },
    )
sys.setswitchinterval(0.0005)  # as in the shop


def wait(request: HttpRequest, key: int) -> HttpResponse:
    """Run a query of five minutes that holds a lock until it ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s), pg_sleep(300)", (key,))
    return HttpResponse("waited")


def burn(request: HttpRequest) -> HttpResponse:
    for _ in range(2_000_000):
        pass
    return HttpResponse("burnt")


urlpatterns = [path("wait/<int:key>/", wait), path("burn/", burn)]
application = get_wsgi_application()


_CALLS, _ROUNDS = 2_000, 15


def costs() -> dict[str, float]:
    """Return the sentry's cost in µs: of a request in each mode of the sentry, of a query, and of a
    call of `check`.
    """
    response = HttpResponse()
    measured = {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
        request = HttpRequest()
        request.method = "GET"
        request.META = {"gunicorn.socket": served, "SERVER_PROTOCOL": "HTTP/1.1"}

        def page(request: HttpRequest) -> HttpResponse:
            middleware.process_view(request, wait)
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
