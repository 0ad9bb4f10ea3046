"""Who may call the API with what: tokens, sessions, pages of other sites, and no accounts."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab.console.programs import told

pytestmark = pytest.mark.slow


ACCOUNTS = {"DOORBUSTER_LAB_ACCOUNTS": "1"}
_BEGIN = """
import logging
from io import StringIO
from django.contrib.auth.models import User
from django.test import Client
from lab.console.models import Note, Token
from lab.console.people import accounts
from lab.console.site import tokens

log = StringIO()
logging.getLogger().addHandler(logging.StreamHandler(log))
logging.getLogger().setLevel(logging.DEBUG)
client = Client(enforce_csrf_checks=True, raise_request_exception=False)

def send(method, path, body=None, token=None, **headers):
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    if body is not None and not isinstance(body, str):
        body, headers["Content-Type"] = json.dumps(body), "application/json"
    kind = headers.pop("Content-Type", "application/octet-stream")
    answer = client.generic(
        method, path, body or "", kind, secure=settings.LAB.lab_accounts, headers=headers
    )
    is_json = answer.headers.get("Content-Type", "").startswith("application/json")
    content = b"".join(answer) if answer.streaming else answer.content
    return [answer.status_code, json.loads(content) if is_json else content.decode("latin-1")[:200]]
"""
_PEOPLE = """
bert, carla = (User.objects.create_user(one, password="words-7-x") for one in ("bert", "carla"))
anna = User.objects.create_user("anna", is_staff=True)
keys = {one.username: tokens.make(one, "script") for one in (anna, bert, carla)}
"""


def _answers(folder: Path, program: str, **settings: str) -> Any:
    people = _PEOPLE if settings.get("DOORBUSTER_LAB_ACCOUNTS") else ""
    return told(folder, _BEGIN + people + program, **settings)


def test_a_token_acts_as_its_person(tmp_path: Path) -> None:
    """The role is the person's own, also after it has changed."""
    program = """
found = [send("GET", "/api/me", token=keys[name])[1] for name in ("anna", "bert")]
User.objects.filter(pk=anna.pk).update(is_staff=False)
print(json.dumps([*found, send("GET", "/api/me", token=keys["anna"])[1]]))
"""
    assert _answers(tmp_path, program, **ACCOUNTS) == [
        {"name": "anna", "role": "teacher"},
        {"name": "bert", "role": "student"},
        {"name": "anna", "role": "student"},
    ]


def test_calls_without_a_valid_token_are_refused(tmp_path: Path) -> None:
    """Missing, invented, revoked and disabled people's tokens get 401 with a JSON reason."""
    program = """
Token.objects.filter(person=carla).delete()
User.objects.filter(pk=bert.pk).update(is_active=False)
found = [send("GET", "/api/launches")]
found += [send("GET", "/api/launches", token=one) for one in ("", "x", keys["carla"], keys["bert"])]
found.append(send("GET", "/api/launches", Authorization="Basic YmVydDp4"))
print(json.dumps(found))
"""
    found = _answers(tmp_path, program, **ACCOUNTS)
    assert [status for status, _ in found] == [401] * 6
    assert all("token" in answer["error"].lower() for _, answer in found)


def test_an_unknown_call_gets_a_json_answer(tmp_path: Path) -> None:
    """This holds for every address below `/api/`, also without a token, and for no page."""
    program = """
paths = ("/api/", "/api/nothing", "/api/launches/x/y", "/nothing")
print(json.dumps([send(method, path) for path in paths for method in ("GET", "POST")]))
"""
    *calls, read, sent = _answers(tmp_path, program, **ACCOUNTS)
    assert [status for status, _ in (*calls, read, sent)] == [404] * 8
    assert {answer["error"] for _, answer in calls} == {
        "The API has no such call. /api/openapi.json describes all calls."
    }
    assert "<!doctype html>" in read[1].lower()


def test_the_description_refuses_other_methods_in_json(tmp_path: Path) -> None:
    program = 'print(json.dumps(send("POST", "/api/openapi.json", token=keys["bert"])))'
    status, answer = _answers(tmp_path, program, **ACCOUNTS)
    assert (status, answer["allowed"]) == (405, "GET, HEAD")


def test_what_ends_all_sessions_revokes_all_tokens(tmp_path: Path) -> None:
    program = """
accounts.disable(bert)
accounts.enable(bert)
accounts.reset_password(carla)
found = [send("GET", "/api/me", token=keys[name])[0] for name in ("anna", "bert", "carla")]
print(json.dumps(found))
"""
    assert _answers(tmp_path, program, **ACCOUNTS) == [200, 401, 401]


def test_only_a_digest_is_kept_and_no_log_has_a_token(tmp_path: Path) -> None:
    program = """
client.force_login(bert)
page = client.get("/tokens/", secure=True)
csrf = page.content.decode().split('csrfmiddlewaretoken" value="')[1].split('"')[0]
form = {"name": "laptop", "csrfmiddlewaretoken": csrf}
origin = {"Origin": "https://testserver", "Referer": "https://testserver/"}
made = client.post("/tokens/", form, secure=True, headers=origin).content.decode()
key = made.split('id="token">')[1].split("<")[0]
again = client.get("/tokens/", secure=True).content.decode()
client.logout()
status, me = send("GET", "/api/me", token=key)
send("GET", "/api/nothing", token=key)
send("POST", "/api/launches", {"name": "x"}, token=key)
from lab.console.site.settings import DATABASE_FILE
kept = b"".join(file.read_bytes() for file in DATABASE_FILE.parent.glob(DATABASE_FILE.name + "*"))
used = Token.objects.get(name="laptop").used_at is not None
print(json.dumps([me["name"], used, key in again, key.encode() in kept, key in log.getvalue()]))
"""
    assert _answers(tmp_path, program, **ACCOUNTS) == ["bert", True, False, False, False]


def test_a_person_revokes_own_tokens_only(tmp_path: Path) -> None:
    """The page of another person's token does not exist for a student."""
    program = """
client = Client()
client.force_login(bert)
def revoke(person):
    pk = Token.objects.get(person=person).pk
    return client.post(f"/tokens/{pk}/revoke", secure=True).status_code
found = [revoke(carla), revoke(bert)]
print(json.dumps([*found, [one.person.username for one in Token.objects.order_by("pk")]]))
"""
    assert _answers(tmp_path, program, **ACCOUNTS) == [404, 302, ["anna", "carla"]]


def test_a_session_alone_changes_nothing(tmp_path: Path) -> None:
    """With a session cookie, reading is allowed; writing needs the CSRF token of the page."""
    program = """
client.force_login(anna)
reads = send("GET", "/api/me")
own = {"Origin": "https://testserver", "Referer": "https://testserver/"}
foreign = {"Origin": "https://evil.example", "Referer": "https://evil.example/"}
wanted = {"names": ["dora"]}
found = [send("POST", "/api/accounts", wanted, **headers) for headers in ({}, own, foreign)]
print(json.dumps([reads, *found, User.objects.filter(username="dora").exists()]))
"""
    reads, *refused, exists = _answers(tmp_path, program, **ACCOUNTS)
    assert reads == [200, {"name": "anna", "role": "teacher"}]
    assert [status for status, _ in refused] == [403] * 3
    assert all("CSRF" in answer["error"] for _, answer in refused)
    assert not exists


def test_a_student_changes_nothing_of_others(tmp_path: Path) -> None:
    program = """
launch = queue.enqueue(Launch(title="Of Bert", engine="simulated", by="bert"))
path = f"/api/launches/{launch.pk}/cancel"
carlas = keys["carla"]
found = [
    send("POST", path, token=carlas),
    send("GET", "/api/accounts", token=carlas),
    send("POST", "/api/accounts", {"names": ["dora"]}, token=carlas),
    send("POST", "/api/accounts/bert/disable", token=carlas),
]
state = Launch.objects.get().state
own = send("POST", path, token=keys["bert"])
print(json.dumps([found, state, own, User.objects.count()]))
"""
    refused, state, own, accounts = _answers(tmp_path, program, **ACCOUNTS)
    assert [status for status, _ in refused] == [403] * 4
    assert all(answer["error"].startswith("Only ") for _, answer in refused)
    assert (state, own[0], own[1]["state"]) == ("queued", 200, "cancelled")
    assert accounts == 3


def test_teachers_make_and_disable_students(tmp_path: Path) -> None:
    """An account that exists is not changed, and nobody disables their own account."""
    program = """
teachers = keys["anna"]
made = send("POST", "/api/accounts", {"names": ["dora", "bert"]}, token=teachers)
wrong = send("POST", "/api/accounts", {"names": ["no name"]}, token=teachers)
off = send("POST", "/api/accounts/dora/disable", token=teachers)
own = send("POST", "/api/accounts/anna/disable", token=teachers)
missing = send("POST", "/api/accounts/emil/disable", token=teachers)
everyone = send("GET", "/api/accounts", token=teachers)[1]["accounts"]
print(json.dumps([made, wrong, off, own, missing, [one["name"] for one in everyone]]))
"""
    made, wrong, off, own, missing, names = _answers(tmp_path, program, **ACCOUNTS)
    assert made[0] == 201
    assert [one["name"] for one in made[1]["made"]] == ["dora"]
    assert made[1]["existing"] == ["bert"]
    assert (wrong[0], wrong[1]["field"]) == (400, "name")
    assert "letters, digits" in wrong[1]["allowed"]
    assert (off[0], off[1]["is_enabled"]) == (200, False)
    assert (own[0], missing[0]) == (400, 404)
    assert names == ["anna", "bert", "carla", "dora"]


def test_without_accounts_programs_call_and_pages_of_other_sites_do_not(tmp_path: Path) -> None:
    """A console without accounts needs no token; a foreign Origin, Host or form changes nothing."""
    program = """
note = {"text": "Many left."}
from lab.console.results import result_list
path = f"/api/results/{result_list.references()[0].name}/notes"
own = send("POST", path, note)
foreign = [
    send("POST", path, note, Origin="https://evil.example"),
    send("POST", path, note, Origin="null"),
    send("POST", path, note, **{"Sec-Fetch-Site": "cross-site"}),
    send("POST", path, note, Referer="https://evil.example/"),
    send("POST", path, note, Cookie="lab_session=x"),
]
rebound = send("POST", path, note, Host="evil.example")
found = [own[0], [status for status, _ in foreign], rebound, Note.objects.count()]
print(json.dumps([*found, send("GET", "/api/me")[1], send("GET", "/api/accounts")[0]]))
"""
    own, foreign, rebound, notes, me, accounts = _answers(tmp_path, program)
    assert (own, foreign, notes) == (201, [403] * 5, 1)
    assert rebound[0] == 400
    assert rebound[1]["error"].startswith("Host: ")
    assert me == {"name": "", "role": "teacher"}
    assert accounts == 404
