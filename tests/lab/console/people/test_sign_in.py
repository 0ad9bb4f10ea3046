"""Sign-in with an OpenID Connect provider: the whole code flow, in the console's own process."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from common import ports
from lab.console.site import oidc_provider
from runtime.settings import REPOSITORY, SettingsError
from tests.lab.console.conftest import PATIENCE_S, Console, run, with_accounts
from tests.lab.console.openid_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    OpenIDProvider,
    openid_provider,
)
from tests.lab.console.visitors import enrolled, visitor

pytestmark = pytest.mark.long

TEACHER = "tess@example.edu"


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIDProvider]:
    """A provider on loopback."""
    (port,) = ports.free(1)
    with openid_provider(port) as made:
        yield made


def variables(issuer: str) -> dict[str, str]:
    """The settings of a console that people sign in to."""
    return {
        "DOORBUSTER_LAB_ACCOUNTS": "1",
        "DOORBUSTER_LAB_CLASSROOM": "1",
        "DOORBUSTER_LAB_OIDC_ISSUER": issuer,
        "DOORBUSTER_LAB_OIDC_CLIENT_ID": CLIENT_ID,
        "DOORBUSTER_LAB_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        "DOORBUSTER_LAB_OIDC_NAME": "Example University",
        "DOORBUSTER_LAB_OIDC_TEACHERS": f"{TEACHER}, dean@example.edu",
    }


@pytest.fixture(scope="module")
def campus(
    console: Console, provider: OpenIDProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Console]:
    """The same console's second server, with accounts and the provider."""
    folder = tmp_path_factory.mktemp("campus")
    with with_accounts(console, folder, variables(provider.issuer), prepares=True) as made:
        yield made


@pytest.fixture(autouse=True)
def honest(provider: OpenIDProvider) -> None:
    """Nothing is wrong with the provider, unless a test spoils it."""
    provider.spoil = {}


def away(one: Console, path: str = "") -> str:
    """Press the button of the login page; return the address that the browser goes to."""
    page = one.get("/people/login").text
    assert "Sign in with Example University</button>" in page
    answer = one.post("/people/sign-in", {"next": path})
    assert answer.status_code == 200, answer.text
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', answer.text)
    assert found, answer.text
    return unescape(found[1])


def back(one: Console, address: str) -> requests.Response:
    """Follow the provider's redirect back to the console."""
    answer = requests.get(address, allow_redirects=False, timeout=PATIENCE_S)
    return one.session.get(answer.headers["Location"], verify=one.verify, timeout=PATIENCE_S)


def signed_in(campus: Console, provider: OpenIDProvider, **person: Any) -> Console:
    """The console for a person whom the provider knows."""
    provider.person = person
    one = visitor(campus)
    answer = back(one, away(one))
    assert "Log out" in answer.text, answer.text
    return one


def name_in(one: Console) -> str:
    """The name of the account that is logged in."""
    found = re.search(r'class="person">.*?<a [^>]*>([^<]+)</a>', one.get("/").text, re.DOTALL)
    assert found
    return found[1]


def is_teacher(one: Console) -> bool:
    """Whether the account sees the page of the teachers."""
    return one.get("/people/").status_code == 200


def test_a_first_sign_in_makes_a_student(campus, provider):
    """State, nonce and PKCE go with the question; the next sign-in finds the same account."""
    one = signed_in(campus, provider, sub="1", preferred_username="bert")
    asked = provider.asked[-1]
    assert len(asked["state"]) >= 16
    assert len(asked["nonce"]) >= 32
    assert len(asked["code_challenge"]) == 43
    assert (name_in(one), is_teacher(one)) == ("bert", False)
    again = signed_in(campus, provider, sub="1", preferred_username="another")
    assert name_in(again) == "bert"


def test_a_name_of_the_provider_takes_no_account(campus, provider):
    teacher = enrolled(campus, "teacher", "anna")
    taken = ["anna", "Anna", "\uff41nna"]
    made = [
        signed_in(campus, provider, sub=f"a{n}", preferred_username=one, email=f"a{n}@x.edu")
        for n, one in enumerate(taken)
    ]
    assert [name_in(one) for one in made] == ["anna-2", "Anna-3", "anna-4"]
    assert not any(map(is_teacher, made))
    assert is_teacher(teacher)


def test_commands_give_no_password_to_an_account_of_the_provider(campus, provider):
    signed_in(campus, provider, sub="2", preferred_username="carl")
    for role in ("student", "teacher"):
        refused = run(campus, role, "carl")
        assert refused.returncode == 2
        assert "carl signs in with a provider and has no password here" in refused.stderr


def test_odd_names_become_allowed_ones(campus, provider):
    """Blanks and signs of a provider's name are replaced; a person without a name gets one."""
    assert name_in(signed_in(campus, provider, sub="3", preferred_username=" J. <b>Doe</b> "))
    assert name_in(signed_in(campus, provider, sub="4")) == "person"
    by_address = signed_in(campus, provider, sub="5", email="kim@example.edu")
    assert name_in(by_address) == "kim@example.edu"


def test_verified_addresses_of_the_setting_are_teachers(campus, provider):
    person = {"preferred_username": "tess", "email": TEACHER.upper()}
    for sub, verified in (("6", False), ("7", "true"), ("8", None)):
        one = signed_in(campus, provider, sub=sub, **person, email_verified=verified)
        assert not is_teacher(one)
    assert is_teacher(signed_in(campus, provider, sub="9", **person, email_verified=True))
    assert is_teacher(signed_in(campus, provider, sub="6", **person, email_verified=True))


def test_disabled_people_do_not_sign_in(campus, provider):
    gone = signed_in(campus, provider, sub="10", preferred_username="dora")
    teacher = enrolled(campus, "teacher", "ines")
    found = re.search(r'href="(/people/\d+/)">dora</a>', teacher.get("/people/").text)
    assert found
    assert "Example University" in teacher.get(found[1]).text
    assert "Reset the password" not in teacher.get(found[1]).text
    assert teacher.post(found[1] + "password").status_code == 400
    teacher.post(found[1] + "disable")
    assert gone.get("/", allow_redirects=False).status_code == 302
    one = visitor(campus)
    answer = back(one, away(one))
    assert answer.status_code == 403
    assert "The account dora is disabled." in answer.text
    assert "dora is deleted" in teacher.post(found[1] + "delete", {"sure": "on"}).text


@pytest.mark.parametrize(
    "spoil",
    [
        {"key": "another"},
        {"kid": "unknown"},
        {"claims": {"nonce": "another"}},
        {"claims": {"aud": "another"}},
        {"claims": {"aud": [CLIENT_ID, "another"], "azp": "another"}},
        {"claims": {"iss": "http://localhost:1"}},
        {"claims": {"exp": 1}},
        {"userinfo": {"sub": "1"}},
        {"state": "another"},
        {"error": "access_denied"},
        {"error": "server_error"},
    ],
)
def test_answers_that_are_not_for_this_sign_in_are_refused(campus, provider, spoil):
    """No person is logged in, no account is made, and no page fails."""
    provider.person = {"sub": "11", "preferred_username": "mallory"}
    provider.spoil = spoil
    one = visitor(campus)
    answer = back(one, away(one))
    assert answer.status_code == 403
    assert "The sign-in was not completed" in answer.text
    assert one.get("/", allow_redirects=False).status_code == 302
    assert "Traceback" not in campus.log.read_text()


def test_a_code_is_for_the_browser_that_asked(campus, provider):
    """Another browser, a second use and an invented answer all fail to log in."""
    provider.person = {"sub": "12", "preferred_username": "otto"}
    one, other = visitor(campus), visitor(campus)
    address = away(one)
    answer = requests.get(address, allow_redirects=False, timeout=PATIENCE_S)
    callback = answer.headers["Location"].removeprefix(campus.url(""))
    assert other.get(callback).status_code == 403
    assert one.get(callback).status_code == 200
    for path in (callback, "/people/sign-in/done", "/people/sign-in/done?code=1&state=2"):
        assert visitor(campus).get(path).status_code == 403


def test_it_leads_back_to_where_one_wanted_to_go(campus, provider):
    provider.person = {"sub": "13", "preferred_username": "rita"}
    one = visitor(campus)
    assert urlsplit(back(one, away(one, "/results/")).url).path == "/results/"
    other = visitor(campus)
    assert back(other, away(other, "https://evil.example/")).url == campus.url("/")


@pytest.mark.parametrize(
    "path",
    ["/people/signup", "/accounts/signup/", "/accounts/login/", "/people/sign-in/signup",
     "/people/openid_connect/login/", "/people/social/signup/", "/accounts/password/reset/"],
)  # fmt: skip
def test_pages_of_allauth_itself_are_not_there(campus, path):
    """People cannot sign up or request a password by mail."""
    teacher = enrolled(campus, "teacher", "ines")
    assert teacher.get(path).status_code == 404


def test_a_sign_in_begins_with_the_button(campus):
    """A link from elsewhere begins none, and neither does a form of another site."""
    one = visitor(campus)
    assert one.get("/people/sign-in").status_code == 405
    forged = one.session.post(campus.url("/people/sign-in"), verify=one.verify, timeout=PATIENCE_S)
    assert forged.status_code == 403


def test_without_the_settings_there_is_no_button(classroom):
    assert "Sign in with" not in visitor(classroom).get("/people/login").text
    teacher = enrolled(classroom, "teacher", "ines")
    assert teacher.get("/people/sign-in/done").status_code == 404


@pytest.mark.browser
def test_a_browser_goes_there_and_comes_back(chromium, campus, provider):
    provider.person = {"sub": "14", "preferred_username": "vera"}
    context = chromium.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.goto(campus.url("/results/"))
    page.click("#sign-in")
    page.wait_for_selector(".person")
    assert page.url == campus.url("/results/")
    assert "vera" in page.inner_text(".person")
    context.close()


# ---- settings ------------------------------------------------------------------------------------


RIGHT = variables("https://login.example.edu/realm")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ISSUER": ""}, "DOORBUSTER_LAB_OIDC_ISSUER is not set; allowed: the address"),
        ({"CLIENT_ID": ""}, "DOORBUSTER_LAB_OIDC_CLIENT_ID is not set"),
        ({"CLIENT_SECRET": " "}, "DOORBUSTER_LAB_OIDC_CLIENT_SECRET is not set"),
        ({"ISSUER": "http://login.example.edu"}, "http://host/path on this machine"),
        ({"ISSUER": "https://me:pw@login.example.edu"}, "not an address of a provider"),
        ({"ISSUER": "https://login.example.edu:x"}, "not an address of a provider"),
        ({"TEACHERS": "tess"}, "'tess' is not an e-mail address"),
        ({"NAME": "x" * 61}, "at most 60 characters, all printable"),
    ],
)
def test_a_setting_that_cannot_be_is_named(changed, said):
    given = RIGHT | {f"DOORBUSTER_LAB_OIDC_{name}": text for name, text in changed.items()}
    with pytest.raises(SettingsError, match=re.escape(said)):
        oidc_provider.provider(given, accounts=True)


def test_sign_in_needs_accounts():
    with pytest.raises(SettingsError, match="set DOORBUSTER_LAB_ACCOUNTS=1 too"):
        oidc_provider.provider(RIGHT, accounts=False)


def test_the_name_is_the_host_unless_set():
    made = oidc_provider.provider(RIGHT | {"DOORBUSTER_LAB_OIDC_NAME": ""}, accounts=True)
    assert made is not None
    assert made.name == "login.example.edu"
    assert oidc_provider.provider({}, accounts=False) is None


@pytest.mark.parametrize("command", ["prepare", "serve", "work"])
def test_a_start_with_a_missing_setting_is_one_line(console, command):
    environment = console.environment | variables("https://login.example.edu")
    del environment["DOORBUSTER_LAB_OIDC_CLIENT_SECRET"]
    done = run(replace(console, environment=environment), command)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: DOORBUSTER_LAB_OIDC_CLIENT_SECRET is not set")
    assert done.stderr.count("\n") == 1


def test_without_the_extra_the_start_says_how_to_install_it(console):
    hidden = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'allauth' else real(name, *more)\n"
        "from lab.console.__main__ import main; main(['serve'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden],
        cwd=REPOSITORY,
        env=console.environment | variables("https://login.example.edu"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert "needs the extra oidc, which is not installed (allauth)" in done.stderr
    assert "uv sync --locked --inexact --extra oidc" in done.stderr
    assert "Traceback" not in done.stderr
