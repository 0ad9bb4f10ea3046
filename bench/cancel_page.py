"""The Django project whose page the customers of `bench.cancel` leave."""

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

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
    """Keep the interpreter busy for a while."""
    for _ in range(2_000_000):
        pass
    return HttpResponse("burnt")


urlpatterns = [path("wait/<int:key>/", wait), path("burn/", burn)]
application = get_wsgi_application()
