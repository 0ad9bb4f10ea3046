"""A bare Django project, served by a real Gunicorn; the sentry is one line in its settings.

The module has the project's files, its process, and clients that leave in every way.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest

from common import ports
from runtime.settings import REPOSITORY
from tests.conftest import serving
from tests.resetting import reset
from tests.waiting import until

# For what takes milliseconds (`make bench-cancel`), on a machine that has much else to do.
PATIENCE_S = 240.0

Server = Callable[..., list[str]]

SETTINGS = """
SECRET_KEY = "bare"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "pages"
MIDDLEWARE = [
    "shop.sentry.SentryMiddleware",
    "django.middleware.common.CommonMiddleware",
]
DATABASES = {}
"""

PAGES = '''
import json, threading, time
from django.db import connection, connections, transaction
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from shop import sentry

LONG_S = 300


def query(sql, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()[0]


def sleep(request, tag):
    """A query that nobody waits out; `tag` is how pg_stat_activity is asked for it."""
    try:
        query(f"SELECT 1 FROM pg_sleep({LONG_S}) -- {tag}")
    except Exception:
        return HttpResponse("taken for a failure")
    return HttpResponse("slept")


def other(request, tag):
    """As sleep, in another database."""
    with connections["other"].cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM pg_sleep({LONG_S}) -- {tag}")
    return HttpResponse("slept")


def short(request, number):
    return HttpResponse(str(query("SELECT %s FROM pg_sleep(0.002)", number)))


def work(request, ms):
    """So much CPU, in slices; then a query."""
    until = time.thread_time() + ms / 1000
    while time.thread_time() < until:
        sentry.check()
    return HttpResponse(str(query("SELECT %s", ms)))


def linger(request):
    """A query that ends about when the client leaves."""
    return HttpResponse(str(query("SELECT 1 FROM pg_sleep(random() * 0.04)")))


def echo(request, number):
    return HttpResponse(str(query("SELECT %s", number)))


def burn(request, tag):
    """Work without queries, in slices."""
    query(f"SELECT pg_advisory_lock_shared(1) -- {tag}")
    try:
        until = time.monotonic() + LONG_S
        while time.monotonic() < until:
            sentry.check()
    finally:
        query("SELECT pg_advisory_unlock_shared(1)")
    return HttpResponse("burnt")


def stream(request, tag):
    def parts():
        yield b"first\\n"
        query(f"SELECT 1 FROM pg_sleep({LONG_S}) -- {tag}")
        yield b"last\\n"
    return StreamingHttpResponse(parts())


def write(request, key):
    """Waits for lock 4. Not a safe method and nothing is said of it: finished whatever happens."""
    query(f"SELECT pg_advisory_xact_lock_shared(4) -- {key} waits")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO written VALUES (%s)", (key,))
    return HttpResponse("written")


@sentry.protected
def guarded(request, key):
    return write(request, key)


@sentry.cancellable
def transact(request, key):
    """Waits for lock 2 before its commit point and for lock 3 behind it."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO written VALUES (%s)", (key,))
        query(f"SELECT pg_advisory_xact_lock_shared(2) -- {key} before")
        sentry.commit_point()
        query(f"SELECT pg_advisory_xact_lock_shared(3) -- {key} behind")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO written VALUES (%s)", (f"{key}, finished",))
    return HttpResponse("done")


def state(request):
    return JsonResponse({
        "mode": sentry.mode(), "watching": sentry.watching(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        **sentry.snapshot(),
    })


def mode(request, wanted):
    sentry.set_mode(wanted)
    return HttpResponse(sentry.mode())


urlpatterns = [
    path("sleep/<tag>/", sleep), path("short/<int:number>/", short),
    path("work/<int:ms>/", work), path("linger/", linger), path("other/<tag>/", other),
    path("echo/<int:number>/", echo),
    path("burn/<tag>/", burn), path("stream/<tag>/", stream), path("write/<key>/", write),
    path("guarded/<key>/", guarded), path("transact/<key>/", transact), path("state/", state),
    path("mode/<wanted>/", mode),
]
'''

WSGI = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "configuration"
from django.core.wsgi import get_wsgi_application
application = get_wsgi_application()
"""


MANAGE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "configuration"
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""


def database(settings):
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": settings.postgres_host,
        "PORT": settings.postgres_port,
        "USER": settings.postgres_user,
        "PASSWORD": settings.postgres_password,
        "NAME": settings.postgres_db,
        "CONN_MAX_AGE": None,
    }


def connect(settings, options=""):
    """Return a separate session, autocommitting; `options` are those of libpq."""
    return psycopg.connect(
        host=settings.postgres_host, port=settings.postgres_port, user=settings.postgres_user,
        password=settings.postgres_password, dbname=settings.postgres_db, autocommit=True,
        options=options,
    )  # fmt: skip


class Client:
    """A connection that a test can leave in every way."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, path, method="GET", behind=b""):
        head = f"{method} {path} HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n\r\n"
        self.socket.sendall(head.encode() + behind)
        return self

    def close(self):
        self.socket.close()

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        reset(self.socket)

    def everything(self):
        """Return all that the server sends until it closes."""
        return b"".join(iter(lambda: self.socket.recv(65536), b""))


class Project:
    """The running project."""

    process: "subprocess.Popen[bytes]"

    def __init__(self, port, log, tls):
        self.port = port
        self._tls = tls
        self.log = log

    def client(self):
        return Client(self.port)

    def request(self, path, method="GET"):
        host, options = "127.0.0.1", {"timeout": PATIENCE_S}
        if self._tls is None:
            connection = http.client.HTTPConnection(host, self.port, **options)
        else:
            connection = http.client.HTTPSConnection(host, self.port, context=self._tls, **options)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def state(self):
        state: dict[str, Any] = json.loads(self.request("/state/")[1])
        return state

    def expect_counted(self, before, **more):
        """Wait until these counts have grown by exactly this much; return the state."""

        def grown():
            state = self.state()
            grown = {name: state[name] - before[name] for name in more}
            assert all(grown[name] <= more[name] for name in more), grown
            return state if grown == more else None

        state: dict[str, Any] = until(grown, f"counts grown by {more}")
        return state

    def said(self):
        """Return the server's log."""
        return self.log.read_text()


def make(folder, settings, *, copied=False, **more):
    """Write the project's files; `more` are further settings.

    `copied` uses a copy of the package under another name, instead of the installed one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = [SETTINGS, f"DATABASES['default'] = {database(settings)!r}"]
    lines += ["DATABASES['other'] = DATABASES['default']"]
    lines += [f"{name} = {value!r}" for name, value in more.items()]
    files = {"configuration": "\n".join(lines), "pages": PAGES, "wsgi": WSGI, "manage": MANAGE}
    if copied:
        shutil.copytree(REPOSITORY / "shop" / "sentry", folder / "lookout")
    for name, text in files.items():
        if copied:
            text = text.replace("shop.sentry", "lookout")
            text = text.replace("from shop import sentry", "import lookout as sentry")
        (folder / f"{name}.py").write_text(text)


def gunicorn(port, *arguments):
    """Return the command that serves the project."""
    return [
        sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--no-control-socket",
        "--graceful-timeout", "5", *arguments, "wsgi",
    ]  # fmt: skip


@contextmanager
def served(folder, *arguments, server=gunicorn, tls=None):
    """Run the project under Gunicorn with these arguments, or under another server."""
    (port,) = ports.free(1)
    project = Project(port, folder / "log", tls)

    def refusal():
        try:
            status, _ = project.request("/state/")
        except OSError as error:
            return str(error)
        return None if status == 200 else f"answered {status}"

    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(REPOSITORY)]))
            started = serving(server(port, *arguments), refusal, project.log)
            project.process = running.enter_context(started)
        yield project
