"""Live pages without an answer from console or gateway report it, and go on when it answers."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from common import ports
from runtime import certificate_files, certificates
from tests.lab.console.browsing import when
from tests.lab.console.conftest import UNANSWERED, run, served, visiting
from tests.lab.console.gateway_scene import Scene, answering

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

AWAY = "document.getElementById('away')"
SEEN = "live.state.newest?.policy"


@pytest.fixture
def gateway(console):
    """Answer as the console's gateway."""
    with answering(Scene(), int(console.environment["DOORBUSTER_GATEWAY_ADMIN_PORT"])):
        yield


def test_a_page_that_lost_the_console_says_so_and_goes_on(chromium, console, gateway, tmp_path):
    (port,) = ports.free(1)
    second = replace(console, port=port)
    bears = (*UNANSWERED, "EventSource's response")
    with visiting(chromium, second, bears=bears) as visit:
        with served(second, tmp_path):
            page = visit("/watch/")
            when(page, f"{SEEN} && {AWAY}.hidden")
        when(page, f"!{AWAY}.hidden")
        assert "does not answer" in page.inner_text("#away")
        with served(second, tmp_path):
            when(page, f"{SEEN} && {AWAY}.hidden")


def test_a_page_whose_session_is_over_asks_to_log_in_again(chromium, console, gateway, tmp_path):
    (port,) = ports.free(1)
    made = certificates.keep(certificate_files.of(console.state).folder)[0]
    second = replace(console, port=port, authority=made.authority)
    accounts = {"DOORBUSTER_LAB_ACCOUNTS": "1"}
    _, _, password = run(second, "teacher", "anna").stdout.strip().partition(",")
    bears = (*UNANSWERED, "EventSource's response")
    with visiting(chromium, second, bears=bears) as visit:
        with served(second, tmp_path, **accounts):
            page = visit("/watch/", ignore_https_errors=True)
            page.fill("#id_username", "anna")
            page.fill("#id_password", password)
            page.click("main button[type=submit]")
            page.wait_for_url("**/watch/")
            when(page, f"{SEEN} && {AWAY}.hidden")
        when(page, f"!{AWAY}.hidden")
        with (
            closing(sqlite3.connect(console.state / "console/console.sqlite3")) as database,
            database,
        ):
            database.execute("DELETE FROM django_session")
        with served(second, tmp_path, **accounts):
            when(page, f"{AWAY}.textContent.includes('log in again')")
        assert page.is_visible("#away")


def test_the_gallery_shows_nothing_live_while_the_gateway_is_away(chromium, console, runs_of):
    port = int(console.environment["DOORBUSTER_GATEWAY_ADMIN_PORT"])
    runs_of(console)[0]()
    with visiting(chromium, console) as visit:
        with answering(Scene(), port):
            page = visit("/")
            page.wait_for_selector("#glance:not([hidden])")
        page.wait_for_selector("#glance[hidden]", state="attached")
        with answering(Scene(), port):
            page.wait_for_selector("#glance:not([hidden])")
            assert page.is_visible("#glance")
