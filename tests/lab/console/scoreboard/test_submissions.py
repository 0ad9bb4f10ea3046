"""A class submits policies: the check, the row of an account, and who may read and replace what."""

import re
from dataclasses import dataclass

import pytest
import requests

from lab.students import template
from tests.gateway.students.policies import source
from tests.lab.console.conftest import PATIENCE_S, Console, run
from tests.lab.console.visitors import logged_in, visitor
from tests.waiting import until

TEXT = template.policy_text("quiet-door")


@dataclass
class Person:
    """A person who is logged in, and submits as the editor's page does."""

    console: Console

    def submit(self, text: str = TEXT, name: str = "quiet_door", **fields: str):
        page = self.console.get("/playground/policy/").text
        token = re.search(r'"X-CSRFToken": "(\w+)"', page)
        assert token, page
        return self.console.session.post(
            self.console.url("/api/scoreboard/policies"),
            json={"name": name, "text": text} | fields,
            headers={"X-CSRFToken": token[1], "Referer": self.console.url("/playground/policy/")},
            verify=self.console.verify,
        )

    def submissions(self) -> str:
        return self.console.get("/scoreboard/submissions").text

    def done(self) -> str:
        """Wait for the newest submission and return the list."""
        until(
            lambda: "every 2s" not in self.submissions(),
            "a submission that has ended",
            2 * PATIENCE_S,
            every_s=1,
        )
        return self.submissions()


@pytest.fixture(scope="module")
def people(classroom: Console, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Person]:
    """A teacher and three students."""
    names = tmp_path_factory.mktemp("class") / "class.csv"
    names.write_text("bert\ncarla\ndora\n")
    lines = run(classroom, "teacher", "anna").stdout.split()
    lines += run(classroom, "students", str(names)).stdout.split()
    passwords = dict(line.split(",")[:2] for line in lines if "," in line)
    return {
        name: Person(logged_in(classroom, name, passwords[name]))
        for name in ("anna", "bert", "carla", "dora")
    }


@pytest.fixture(scope="module")
def submitted(classroom: Console, people: dict[str, Person]) -> str:
    """A row of one student, as the list links to it."""
    classroom.start_workers()
    answer = people["bert"].submit()
    assert answer.status_code == 201, answer.text
    return people["bert"].done()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os\n" + TEXT, "line 1: import os"),
        (TEXT.replace("return NOTHING", "return (", 1), "was never closed"),
        ("SHEET = 1\n", "no make()"),
        ("#" * 140_000, "at most 131,072 bytes"),
        ("", "at most 131,072 bytes"),
    ],
    ids=["impure", "syntax", "no make", "large", "empty"],
)
def test_a_text_that_is_no_policy_is_refused_with_its_line(people, text, says):
    """Nothing waits in the queue for it."""
    answer = people["bert"].submit(text)
    assert answer.status_code == 400, answer.text
    assert says in answer.json()["error"]
    assert "You have not submitted a policy yet" in people["bert"].submissions()


@pytest.mark.parametrize("name", ["Quiet", "../quiet", "", "a" * 41, "sq"])
def test_a_bad_name_is_refused(people, name):
    """The console writes no file outside the launch's folder."""
    answer = people["carla"].submit(name=name)
    assert answer.status_code == 400, answer.text


def test_a_submission_beyond_the_limit_leaves_no_file(classroom, people):
    """A student may have five launches that wait; no worker runs yet."""
    dora = people["dora"]
    answers = [dora.submit(name=f"door_{number}") for number in range(6)]
    try:
        assert [one.status_code for one in answers] == [201] * 5 + [403], answers[-1].text
        kept = sorted(path.name for path in classroom.state.rglob("door_*.py"))
        assert kept == [f"door_{number}.py" for number in range(5)]
    finally:
        for one in answers[:5]:
            dora.console.post(f"/launches/{one.json()['id']}/cancel", {})


def test_a_request_without_the_token_of_a_page_is_refused(classroom, people):
    url = classroom.url("/api/scoreboard/policies")
    body = {"name": "quiet_door", "text": TEXT}
    bert = people["bert"].console
    forged = bert.session.post(url, json=body, verify=bert.verify, headers={"Referer": url})
    assert forged.status_code == 403
    nobody = requests.post(url, json=body, verify=classroom.verify)
    assert nobody.status_code in (401, 403)
    assert (
        visitor(classroom)
        .get("/scoreboard/submissions")
        .url.endswith("/people/login?next=/scoreboard/submissions")
    )


def test_a_later_submission_of_a_name_ends_the_one_that_waits(people):
    """The board keeps the newest, whichever is done first. No worker runs yet."""
    anna = people["anna"]
    assert anna.submit().status_code == 201
    last = anna.submit()
    assert last.status_code == 201
    states = re.findall(r'class="tag (\w+)"', anna.submissions())
    assert states == ["queued", "cancelled"]
    anna.console.post(f"/launches/{last.json()['id']}/cancel", {})
    assert "every 2s" not in anna.submissions()


@pytest.mark.long
def test_a_submission_becomes_a_row_of_its_account(submitted, people):
    bert = people["bert"].console
    (result,) = re.findall(r'href="/results/([^/"]+)/">result', submitted)
    (race,) = re.findall(r'href="([^"]+)">race', submitted)
    (why,) = re.findall(r'href="([^"]+)">decision trace', submitted)
    assert "DOOR-LIFO" in bert.get(race).text
    assert "Why" in bert.get(why.replace("&amp;", "&")).text
    assert "quiet_door" in why
    rows = bert.get("/api/scoreboard").json()["rows"]
    assert {row["by"] for row in rows} == {"bert", "the project"}
    assert [row["result"] for row in rows if row["by"] == "bert"] == [result]
    assert race in bert.get("/scoreboard/").text


@pytest.mark.long
def test_a_student_sees_and_replaces_only_own_submissions(submitted, people):
    """A file with another student's name and author makes another row, and stays unread."""
    carla, bert, anna = people["carla"], people["bert"], people["anna"]
    (result,) = re.findall(r'href="/results/([^/"]+)/">result', submitted)
    assert "You have not submitted a policy yet" in carla.submissions()
    bundle = f"/results/{result}/bundle.zip"
    copy = f"/results/{result}/files/policies/quiet_door.py"
    for path in (bundle, f"/api{bundle}", copy):
        assert carla.console.get(path).status_code == 403, path
        assert bert.console.get(path).status_code == 200, path
    assert anna.console.get(copy).status_code == 200
    assert carla.console.get(f"/results/{result}/").status_code == 200
    assert carla.console.post(f"/results/{result}/again", {}).status_code == 403
    answer = carla.submit(TEXT.replace('source="my name"', 'source="bert"'))
    assert answer.status_code == 201, answer.text
    carla.done()
    rows = bert.console.get("/api/scoreboard").json()["rows"]
    assert sorted(row["by"] for row in rows if row["policy"] == "quiet_door") == ["bert", "carla"]
    assert [row["result"] for row in rows if row["by"] == "bert"] == [result]


@pytest.mark.long
def test_a_rule_that_is_broken_is_shown_with_its_line(classroom, people):
    """The check of the launch finds what reading the file cannot."""
    classroom.start_workers()
    assert people["bert"].submit(source(workers_free="1 / 0"), "broken").status_code == 201
    shown = people["bert"].done()
    assert "broken.py is not valid, so it has no row" in shown
    assert "ZeroDivisionError" in shown
    assert re.search(r'data-line="\d+" data-name="broken"', shown)
