"""A console with accounts speaks TLS only, with cookies that no other port of its host sees."""

import socket
import sqlite3
import ssl
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
import requests

from common import answering, ports
from lab.console.server.tls_listener import plain_answer
from runtime import certificate_files, certificates
from runtime.settings import REPOSITORY
from tests.lab.console.conftest import PATIENCE_S, run
from tests.lab.console.visitors import enrolled, visitor

pytestmark = pytest.mark.long


def test_cookies_stay_with_the_console(classroom):
    """All cookies are Secure, HttpOnly, SameSite=Lax and bound to this host by their name."""
    person = enrolled(classroom, "student", "tess")
    cookies = {cookie.name: cookie for cookie in person.session.cookies}
    assert {"__Host-lab_session", "__Host-lab_csrf"} <= set(cookies)
    for name, cookie in cookies.items():
        assert name.startswith("__Host-lab_")
        assert cookie.secure
        assert cookie.has_nonstandard_attr("HttpOnly")
        assert cookie.get_nonstandard_attr("SameSite") == "Lax"
        assert (cookie.path, cookie.domain_specified) == ("/", False)


def test_browsers_are_told_to_stay_with_tls(classroom):
    answer = classroom.get("/people/login")
    assert answer.headers["Strict-Transport-Security"] == "max-age=86400"
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_the_database_has_no_cookie(classroom):
    """A reader of the database finds digests of session keys, which do not log in."""
    person = enrolled(classroom, "student", "theo")
    with (
        closing(sqlite3.connect(classroom.state / "console/console.sqlite3")) as database,
        database,
    ):
        keys = [key for (key,) in database.execute("SELECT session_key FROM django_session")]
    assert keys
    assert person.session.cookies["__Host-lab_session"] not in keys
    for key in keys:
        stranger = visitor(classroom)
        stranger.session.cookies["__Host-lab_session"] = key
        assert stranger.get("/", allow_redirects=False).status_code == 302


def test_logging_out_removes_the_session(classroom):
    person = enrolled(classroom, "student", "tim")
    kept = person.session.cookies["__Host-lab_session"]
    person.post("/people/logout")
    stranger = visitor(classroom)
    stranger.session.cookies["__Host-lab_session"] = kept
    assert stranger.get("/", allow_redirects=False).status_code == 302


def test_plain_http_leads_to_https(classroom):
    plain = classroom.url("/results/?sort=name").replace("https", "http")
    answer = requests.get(plain, allow_redirects=False, timeout=PATIENCE_S)
    assert answer.status_code == 307
    assert answer.headers["Location"] == classroom.url("/results/?sort=name")
    answer = requests.post(plain, data={"password": "secret"}, timeout=PATIENCE_S)
    assert answer.status_code == 400
    assert "https only" in answer.text


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET /\rSet-Cookie:x HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x00\xff" * 5000,
    ],
)
def test_a_plain_request_of_another_form_leads_nowhere(head):
    """Only a path and a host of the usual signs are put into an answer."""
    answer = plain_answer(head)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Location" not in answer


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_old_tls_is_refused(classroom):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", classroom.port), PATIENCE_S) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(plain)


def test_what_is_neither_tls_nor_http_harms_nobody(classroom):
    """Connections without a word, or with nonsense, do not keep others from their page."""
    silent = [socket.create_connection(("127.0.0.1", classroom.port)) for _ in range(50)]
    try:
        for one in silent[::2]:
            one.sendall(b"\x16\x03\x01nonsense")
        assert classroom.get("/people/login").status_code == 200
    finally:
        for one in silent:
            one.close()


def test_another_certificate_is_no_answer(classroom, tmp_path):
    right = certificate_files.of(classroom.state)
    assert answering.get_refusal("127.0.0.1", classroom.port, "/health", right.server) is None
    other = certificates.make(tmp_path / "other")
    for trust in (other.server, right.authority):
        refusal = answering.get_refusal("127.0.0.1", classroom.port, "/health", trust)
        assert refusal is not None
        assert "certificate" in refusal


def test_a_console_without_its_certificate_says_so(classroom, tmp_path):
    (port,) = ports.free(1)
    environment = classroom.environment | {
        "DOORBUSTER_LAB_PORT": str(port),
        "DOORBUSTER_LAB_TLS_CERTIFICATE": str(tmp_path / "none.pem"),
    }
    done = run(replace(classroom, environment=environment), "serve")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: DOORBUSTER_LAB_TLS_CERTIFICATE=")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("accounts", ["0", "1"])
def test_a_taken_port_is_one_line(classroom, accounts):
    environment = classroom.environment | {"DOORBUSTER_LAB_ACCOUNTS": accounts}
    environment |= {"DOORBUSTER_LAB_CLASSROOM": "0"}
    done = run(replace(classroom, environment=environment), "serve")
    assert done.returncode == 1
    assert "Error: the console cannot listen on" in done.stderr
    assert "fix: end the program that uses the port, or set DOORBUSTER_LAB_PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_django_finds_nothing_to_deploy_better(classroom):
    """`check --deploy` has no warning in class mode."""
    done = subprocess.run(
        [sys.executable, "-m", "django", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=REPOSITORY,
        env=classroom.environment | {"DJANGO_SETTINGS_MODULE": "lab.console.site.settings"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_accounts_all_stays_plain(console):
    answer = console.get("/")
    assert answer.url.startswith("http://")
    assert "Strict-Transport-Security" not in answer.headers
    assert {cookie.name for cookie in console.session.cookies} == {"lab_csrf"}


def test_the_check_of_its_container_takes_its_certificate_only(classroom, tmp_path):
    def is_healthy(certificate, *scheme):
        done = subprocess.run(
            ["bash", "docker/healthy.sh", str(classroom.port), "/health", *scheme],
            cwd=REPOSITORY,
            env=classroom.environment | {"DOORBUSTER_LAB_TLS_CERTIFICATE": str(certificate)},
            timeout=PATIENCE_S,
        )
        return done.returncode == 0

    right = certificate_files.of(classroom.state).server
    assert is_healthy(right, "https")
    assert not is_healthy(certificates.make(tmp_path).server, "https")
    assert not is_healthy(right)


def test_the_check_of_its_container_takes_plain_http(console):
    command = ["bash", "docker/healthy.sh", str(console.port), "/health", "http"]
    assert subprocess.run(command, cwd=REPOSITORY, timeout=PATIENCE_S).returncode == 0
