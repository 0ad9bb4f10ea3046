"""The ad server as a real process on the session's PostgreSQL, with a small inventory."""

import json
import os
import signal
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from common import ports
from tests.conftest import serving
from tests.programs import python
from tests.waiting import until

BANNERS = 2_000
CLIENT_TIMEOUT_S = 120.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


class Answer:
    """The answer to one call."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class RunningAds:
    """An ad server that a test can call, and its database."""

    def __init__(self, port, environment, process):
        self.url = f"http://{environment.get('DOORBUSTER_INNER_HOST', '127.0.0.1')}:{port}"
        self.environment = environment
        self.process = process

    def call(self, method, path, body=None, *, token=None, headers=None):
        """Send one request; `body` is sent as JSON unless it is bytes already."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = (headers or {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with _opener.open(request, timeout=CLIENT_TIMEOUT_S) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, refusal.headers, refusal.read())

    def get(self, path):
        return self.call("GET", path)

    def rows(self, sql, *parameters):
        """Return the rows of the database's answer; changes are committed."""
        return rows(self.environment, sql, *parameters)


def rows(environment, sql, *parameters):
    """Return the rows as RunningAds.rows does, also while no server runs."""
    with psycopg.connect(
        host=environment["DOORBUSTER_POSTGRES_HOST"],
        port=environment["DOORBUSTER_POSTGRES_PORT"],
        user=environment["DOORBUSTER_POSTGRES_USER"],
        password=environment["DOORBUSTER_POSTGRES_PASSWORD"],
        dbname=environment["DOORBUSTER_POSTGRES_DB"],
        options="-c search_path=ads",
    ) as connection:
        cursor = connection.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


def figures(ads):
    """Return the server's metrics: name and labels' values → value."""
    answer = ads.get("/ads/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }


def reported(ads):
    """Return when all deliveries before this call are in the database."""
    done = ("doorbuster_ads_reports_total", "done")
    reports = figures(ads).get(done, 0)
    # The next one to end may have begun before this call.
    until(lambda: figures(ads).get(done, 0) >= reports + 2, "two reports")


def command(environment, *arguments):
    """Run `python -m shop.ads …`."""
    return python("-m", "shop.ads", *arguments, env=environment)


def under_its_settings(environment, script, *arguments):
    """Return the output of a script in a separate process.

    Under the shop's settings the ad server's tables would count as the shop's.
    """
    done = python(
        "-c",
        script,
        *arguments,
        env=environment | {"DJANGO_SETTINGS_MODULE": "shop.ads.settings"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def served(environment, log, **settings):
    """Run the ad server with these DOORBUSTER_ADS_ settings, until the block ends."""
    [port] = ports.free(1)
    more = {f"DOORBUSTER_ADS_{name.upper()}": str(value) for name, value in settings.items()}
    whole = environment | more | {"DOORBUSTER_ADS_PORT": str(port)}

    def refusal():
        try:
            status = running.get("/ads/health").status
        except OSError as error:
            return str(error)
        return None if status == 200 else f"answered {status}"

    running = RunningAds(port, whole, None)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in whole.items():
            patch.setenv(name, value)
        with serving(
            [sys.executable, "-m", "shop.ads", "serve"], refusal, log, stop=signal.SIGTERM
        ) as process:
            running.process = process
            yield running


@pytest.fixture(scope="session")
def ads_environment(appliance_database):
    """Return the environment of ad server processes on a seeded database."""
    environment = {
        name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"
    }
    environment["DOORBUSTER_ADS_BANNERS"] = str(BANNERS)
    prepared = command(environment, "migrate-and-seed")
    assert prepared.returncode == 0, prepared.stderr
    return environment


@pytest.fixture(scope="package")  # its reports would cost CPU time in all later tests
def ads(ads_environment, tmp_path_factory):
    """Yield one process for all tests that do not kill it; it reports every 50 ms."""
    log = tmp_path_factory.mktemp("ads") / "ads.log"
    with served(ads_environment, log, flush_s=0.05, priority_levels="0=1,1=2,2=8") as running:
        yield running


@pytest.fixture(scope="session")
def token(ads_environment):
    """Return the token of the contract API."""
    return command(ads_environment, "token").stdout.strip()
