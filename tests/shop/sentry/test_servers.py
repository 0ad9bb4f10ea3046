"""The sentry reports an unsupported server once; invalid settings are refused."""

import os
import re
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from shop import sentry
from shop.sentry import apps, configuration, servers
from tests.programs import python
from tests.shop.sentry import project as bare

BAD_SETTINGS = [
    ("SENTRY_MODE", "on"),
    ("SENTRY_MODE", None),
    ("SENTRY_METHODS", "GET"),
    ("SENTRY_METHODS", ["get"]),
    ("SENTRY_METHODS", [1]),
    ("SENTRY_CANCEL_TIMEOUT_S", 0),
    ("SENTRY_CANCEL_TIMEOUT_S", "1"),
    ("SENTRY_CANCEL_TIMEOUT_S", True),
    ("SENTRY_DATABASE_CHECK_S", -1),
]


@pytest.fixture
def mode_as_set():
    configuration.reset_mode()
    yield
    configuration.reset_mode()


def wsgiref(port):
    code = (
        "from wsgiref.simple_server import make_server; from wsgi import application; "
        f"make_server('127.0.0.1', {port}, application).serve_forever()"
    )
    return [sys.executable, "-c", code]


def gevent(port):
    return bare.gunicorn(port, "--worker-class", "gevent")


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (wsgiref, "WSGIServer/0.2 does not give its sockets to the application"),
        (gevent, "this process runs gevent"),
    ],
)
def test_another_server_is_served_and_told_once(tmp_path, appliance_database, server, why):
    bare.make(tmp_path, appliance_database)
    with bare.served(tmp_path, server=server) as project:
        for number in range(3):
            assert project.request(f"/echo/{number}/") == (200, str(number))
        assert project.state()["watching"] == 0
        assert "sentry" not in project.state()["threads"]
        (told,) = [line for line in project.said().splitlines() if "Connection Sentry" in line]
    assert why in told
    assert servers.MEND in told


def test_a_socket_is_taken_from_gunicorn_only(caplog):
    assert servers.socket_of({"SERVER_SOFTWARE": "other/1"}) is None
    assert servers.socket_of({"SERVER_SOFTWARE": "other/1"}) is None
    assert [record.message for record in caplog.records] == [
        f"The Connection Sentry cannot watch requests: other/1 does not give its sockets to the "
        f"application (gunicorn.socket); {servers.MEND}."
    ]


def manage(folder, *arguments, **environment):
    return python(
        "manage.py",
        *arguments,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(bare.REPOSITORY), **environment},
    )


def test_system_checks_of_a_bare_project(tmp_path, appliance_database):
    apps = {"INSTALLED_APPS": ["shop.sentry"]}
    bare.make(tmp_path, appliance_database, **apps)
    good = manage(tmp_path, "check", GUNICORN_CMD_ARGS="--worker-class=gthread --threads 4")
    assert (good.returncode, good.stderr) == (0, "")
    wrong = manage(tmp_path, "check", GUNICORN_CMD_ARGS="--threads 4 -k gevent")
    assert "sentry.W003" in wrong.stderr
    assert "sets the worker class gevent" in wrong.stderr
    bare.make(tmp_path, appliance_database, **apps, SENTRY_MODE="on")
    bad = manage(tmp_path, "check")
    assert bad.returncode == 1
    assert "SENTRY_MODE: must be 'off', 'watch' or 'cancel', not 'on'" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_the_development_server_is_told(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["manage.py", "runserver"])
    (found,) = [message for message in apps.check() if message.id == "sentry.W003"]
    assert "development server" in found.msg


def test_the_shop_itself_passes():
    assert [message for message in apps.check() if message.id != "sentry.W003"] == []


@pytest.mark.parametrize(
    ("middleware", "id"),
    [
        ([], "sentry.W001"),
        (
            ["django.middleware.common.CommonMiddleware", "shop.sentry.SentryMiddleware"],
            "sentry.W002",
        ),
    ],
)
def test_where_the_middleware_stands(settings, middleware, id):
    settings.MIDDLEWARE = middleware
    assert id in [message.id for message in apps.check()]


@pytest.mark.parametrize(("name", "value"), BAD_SETTINGS)
def test_bad_settings_name_the_setting_and_what_it_may_be(settings, mode_as_set, name, value):
    setattr(settings, name, value)
    with pytest.raises(ImproperlyConfigured, match=rf"^{name}: must be .+, not "):
        sentry.SentryMiddleware(lambda request: None)
    assert [message.id for message in apps.check() if name in message.msg] == ["sentry.E001"]


def test_a_mode_set_at_run_time_holds(mode_as_set):
    assert sentry.mode() == "watch"  # the shop's setting
    sentry.set_mode("cancel")
    assert sentry.mode() == "cancel"
    with pytest.raises(sentry.SettingRefused):
        sentry.set_mode("on")
    assert sentry.mode() == "cancel"


def test_the_documentation_has_these_settings():
    text = (bare.REPOSITORY / "docs" / "sentry.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `(SENTRY_\w+)` \| `(.+?)` \| (.+?) \|$", text, re.MULTILINE)
    assert documented == [
        (setting.name, repr(setting.default), setting.meaning) for setting in configuration.SETTINGS
    ]


def test_the_package_imports_nothing_of_the_shop():
    """Its folder can therefore be copied."""
    for path in (bare.REPOSITORY / "shop" / "sentry").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) shop\b", source, re.MULTILINE), path.name
