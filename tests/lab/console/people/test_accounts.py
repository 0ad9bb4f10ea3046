"""Accounts: which names there are, and the teacher's page that makes and changes accounts."""

import re
from html import unescape

import pytest
import requests

from tests.lab.console.browsing import press, tab_to, type_into
from tests.lab.console.conftest import PATIENCE_S, Console, run, visiting
from tests.lab.console.visitors import enrolled, logged_in

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def anna(classroom: Console) -> Console:
    """A teacher, logged in."""
    return enrolled(classroom, "teacher", "anna")


def make(teacher: Console, text: str) -> requests.Response:
    """The answer to a list of names in the form."""
    teacher.get("/people/")
    return teacher.post("/people/", {"names": text})


def made(teacher: Console, text: str) -> dict[str, str]:
    """Name and password of each student that a list of names makes."""
    answer = make(teacher, text)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    shown = re.search(r"<pre[^>]*>name,password\n(.*?)</pre>", answer.text, re.DOTALL)
    assert shown, answer.text
    return dict(line.split(",") for line in shown[1].split())


def address_of(teacher: Console, name: str) -> str:
    """The page of one account."""
    page = teacher.get("/people/").text
    found = re.search(rf'href="(/people/\d+/)">{re.escape(name)}</a>', page)
    assert found, page
    return found[1]


def change(teacher: Console, name: str, what: str, **more: str) -> requests.Response:
    """The answer to a change of an account."""
    return teacher.post(address_of(teacher, name) + what, more)


def row_of(teacher: Console, name: str) -> list[str]:
    """The cells of an account's row after its name."""
    rows = re.findall(r"<tr>(.*?)</tr>", teacher.get("/people/").text)
    row = next(one for one in rows if f">{name}</a>" in one)
    return [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td>(.*?)</td>", row)]


def is_logged_in(one: Console) -> bool:
    """Whether the cookies still belong to a session."""
    return one.get("/results/", allow_redirects=False).status_code == 200


def test_students_are_made_from_a_pasted_list(classroom, anna):
    """Every new student can log in; a name that exists is not changed."""
    passwords = made(anna, "\ufeffname;group\r\nbert;1\r\n\r\ncarla;2\r\n")
    assert sorted(passwords) == ["bert", "carla"]
    assert is_logged_in(logged_in(classroom, "bert", passwords["bert"]))
    again = make(anna, "bert\ndora")
    assert "already exist and have not been changed: bert." in again.text
    assert is_logged_in(logged_in(classroom, "bert", passwords["bert"]))
    assert row_of(anna, "dora") == ["student", "enabled", "never", "0", "0"]
    assert row_of(anna, "anna")[:2] == ["teacher", "enabled"]


def test_students_are_made_from_a_file(anna):
    anna.get("/people/")
    answer = anna.upload("file", "/people/", "class.csv", "name,group\nfüsun,1\n".encode())
    assert "füsun," in answer.text
    refused = anna.upload("file", "/people/", "class.csv", b"\xff\xfe\x00")
    assert refused.status_code == 400
    assert "file: cannot be read" in refused.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names: has no names"),
        ("no name", "allowed: 1 to 150 letters, digits and @ . + - _"),
        ("x" * 151, "allowed: 1 to 150 letters, digits and @ . + - _"),
        ("emil\nEMIL", "names: has a name more than once: emil, EMIL"),
        ("emil\n\uff25mil", "names: has a name more than once"),
        ("\uff45mil", "allowed: 'emil'"),
        ("Anna", "is too similar to the existing name anna; allowed: another name"),
        ("\n".join(f"s{one}" for one in range(500)), "has 501 names; allowed: at most 500"),
        ("x\n" * 40_000, "names: is too long; allowed: at most 65,536 bytes"),
    ],
)
def test_lists_that_cannot_be_are_refused_as_a_whole(anna, text, said):
    answer = make(anna, "frieda\n" + text if text else text)
    assert answer.status_code == 400
    assert said in unescape(answer.text)
    assert "frieda</a>" not in anna.get("/people/").text


def test_commands_refuse_names_that_are_like_others(classroom, anna, tmp_path):
    """`make teacher` and `make students` compare names as the page does, and spare teachers."""
    file = tmp_path / "class.csv"
    for names in ("Anna", "\uff41nna", "anna", "kim\nKIM", "no name"):
        file.write_text(f"lena\n{names}\n")  # all of a file or none
        refused = run(classroom, "students", str(file))
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith("Error: ")
        assert refused.stderr.count("\n") == 1
    for words in (("student", "no name"), ("students", "/nothing.csv")):
        assert run(classroom, *words).stderr.startswith("Error: ")
    refused = run(classroom, "teacher", "ANNA")
    assert "too similar to the existing name anna" in refused.stderr
    assert row_of(anna, "anna")[:2] == ["teacher", "enabled"]
    assert "lena</a>" not in anna.get("/people/").text


def test_students_see_nothing_of_it(classroom, anna):
    student = logged_in(classroom, "gerd", made(anna, "gerd")["gerd"])
    page = address_of(anna, "anna")
    assert student.get("/people/").status_code == student.get(page).status_code == 403
    assert student.post("/people/", {"names": "helga"}).status_code == 403
    for what in ("password", "disable", "enable", "teacher", "student", "delete", "nothing"):
        assert student.post(page + what, {"sure": "on"}).status_code == 403
    assert 'href="/people/"' not in student.get("/").text
    assert 'href="/people/"' in anna.get("/").text


def test_changes_need_a_post_with_its_token(classroom, anna):
    made(anna, "ida")
    page = address_of(anna, "ida")
    assert anna.get(page + "disable").status_code == 405
    forged = anna.session.post(anna.url(page) + "disable", timeout=PATIENCE_S, verify=anna.verify)
    assert forged.status_code == 403
    assert row_of(anna, "ida")[1] == "enabled"


def test_a_reset_password_is_shown_once_and_ends_sessions(classroom, anna):
    old = made(anna, "jan")["jan"]
    jan = logged_in(classroom, "jan", old)
    answer = change(anna, "jan", "password")
    shown = re.search(r'<code id="password">([^<]+)</code>', answer.text)
    assert shown
    assert answer.headers["Cache-Control"] == "no-store"
    assert not is_logged_in(jan)
    assert shown[1] not in anna.get(address_of(anna, "jan")).text
    with pytest.raises(AssertionError):
        logged_in(classroom, "jan", old)
    assert is_logged_in(logged_in(classroom, "jan", shown[1]))


def test_a_changed_password_ends_the_other_sessions(classroom, anna):
    password = made(anna, "lars")["lars"]
    here, there = (logged_in(classroom, "lars", password) for _ in range(2))
    new = "quite-another-9"
    sent = {"old_password": password, "new_password1": new, "new_password2": new}
    assert "Your password is changed." in here.post("/people/password", sent).text
    assert is_logged_in(here)
    assert not is_logged_in(there)


def test_a_disabled_account_is_out_at_once(classroom, anna):
    password = made(anna, "mona")["mona"]
    mona = logged_in(classroom, "mona", password)
    launch = mona.launch("Of Mona", sessions=20_000, repetitions=5)
    assert row_of(anna, "mona")[3:] in (["1", "0"], ["0", "1"])
    with mona.get("/watch/stream", stream=True) as stream:
        lines = stream.iter_lines()
        next(lines)
        change(anna, "mona", "disable")
        assert row_of(anna, "mona")[1] == "disabled"
        assert not is_logged_in(mona)
        for _ in lines:  # until the server ends it
            pass
    anna.wait_until(launch, "cancelled")
    with pytest.raises(AssertionError):
        logged_in(classroom, "mona", password)
    change(anna, "mona", "enable")
    assert not is_logged_in(mona)
    assert is_logged_in(logged_in(classroom, "mona", password))


def test_teachers_are_made_and_unmade(classroom, anna):
    """A role counts from the next page on; people cannot change their account's role."""
    nora = logged_in(classroom, "nora", made(anna, "nora")["nora"])
    change(anna, "nora", "teacher")
    assert nora.get("/people/").status_code == 200
    refused = change(nora, "nora", "student")
    assert refused.status_code == 400
    assert "your own account" in refused.text
    change(anna, "nora", "student")
    assert nora.get("/people/").status_code == 403


def test_an_account_is_deleted_by_who_means_it(classroom, anna):
    otto = logged_in(classroom, "otto", made(anna, "otto")["otto"])
    assert change(anna, "otto", "delete").status_code == 400
    assert is_logged_in(otto)
    assert "otto is deleted" in change(anna, "otto", "delete", sure="on").text
    assert not is_logged_in(otto)
    assert "otto</a>" not in anna.get("/people/").text


def test_changes_of_accounts_stand_in_the_log(classroom, anna):
    password = made(anna, "paul")["paul"]
    change(anna, "paul", "disable")
    text = classroom.log.read_text()
    assert "lab.people: anna made 1 students: paul" in text
    assert "lab.people: anna changed the account paul: disable" in text
    assert password not in text


def test_without_accounts_there_is_no_such_page(console):
    assert console.get("/people/").status_code == 404
    assert 'href="/people/"' not in console.get("/").text


@pytest.mark.browser
def test_a_teacher_works_by_keyboard(chromium, classroom, anna):
    with visiting(chromium, classroom) as visit:
        page = visit("/people/login", ignore_https_errors=True)
        name, password = run(classroom, "teacher", "tess").stdout.strip().split(",")
        type_into(page, "#id_username", name)
        type_into(page, "#id_password", password)
        page.keyboard.press("Enter")
        press(page, "nav a:text-is('People')")
        tab_to(page, "#names")
        page.keyboard.type("rita\nsven")
        press(page, "main button[type=submit]")
        page.wait_for_selector("pre")
        press(page, "a:text-is('rita')")
        press(page, "button:text-is('Disable the account')")
        page.wait_for_selector("text=rita is disabled")
        press(page, "#sure", " ")
        press(page, "button.danger")
        page.wait_for_selector("text=rita is deleted")
        assert row_of(anna, "sven")[0] == "student"
