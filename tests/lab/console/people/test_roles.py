"""Students and teachers: who may do what, how often, and where the console listens."""

import os
import re
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from common import ports
from lab.engines.live import announcement as live_runs
from runtime.settings import SettingsError, load
from runtime.state import MARKER
from tests.lab.console.conftest import SPEC, Console, run, served
from tests.lab.console.launch_rows import live_launch
from tests.lab.console.site.test_pages import described
from tests.lab.console.visitors import enrolled, visitor

pytestmark = pytest.mark.long

LIVE = SPEC.format(title="Live", seed=1, repetitions=1, sessions=50).replace(
    '"simulated"', '"live"'
)


@pytest.fixture(scope="module")
def people(classroom):
    """(teacher, bert, carla), logged in."""
    roles = {"anna": "teacher", "bert": "student", "carla": "student"}
    return tuple(enrolled(classroom, role, name) for name, role in roles.items())


@pytest.mark.parametrize("path", ["/", "/results/", "/launches/table", "/watch/stream"])
def test_nobody_sees_anything_before_they_say_who_they_are(classroom, people, path):
    stranger = visitor(classroom)
    answer = stranger.get(path, allow_redirects=False)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/people/login?next=/")
    asked = stranger.get(path, headers={"HX-Request": "true"}, stream=True)
    assert (asked.status_code, asked.headers["HX-Redirect"]) == (401, "/people/login")


def launched_by(one: Console, title: str, sessions: int = 50) -> str:
    return one.launch(title, sessions=sessions)


def test_the_password_page_is_none_of_the_navigation(people):
    text = people[1].get("/people/password").text
    assert 'href="/results/"' in text
    assert "aria-current" not in text


def test_what_is_wrong_with_a_password_is_told_with_its_field(people):
    sent = {"old_password": "wrong", "new_password1": "short", "new_password2": "short"}
    told = described(people[1].post("/people/password", sent).text)
    assert {"id_old_password_error", "id_new_password2_error", "id_new_password1_helptext"} <= told


def test_students_launch_simulations_and_cancel_their_own(people):
    teacher, bert, carla = people
    launch = launched_by(bert, "Of Bert", sessions=20_000)
    assert "by bert" in bert.get(f"/launches/{launch}/").text
    refused = carla.post(f"/launches/{launch}/cancel")
    assert refused.status_code == 403
    assert "Only a teacher or the person who launched this experiment can cancel" in refused.text
    assert carla.post(f"/launches/{launch}/first").status_code == 403
    assert "Cancel</button>" not in carla.get(f"/launches/{launch}/").text
    bert.post(f"/launches/{launch}/cancel")
    bert.wait_until(launch, "cancelled", "done")
    other = launched_by(carla, "Of Carla", sessions=20_000)
    teacher.post(f"/launches/{other}/cancel")
    teacher.wait_until(other, "cancelled", "done")


def test_in_the_classroom_the_teacher_runs_live(people):
    teacher, bert, _ = people
    refused = bert.upload("spec", "/upload/", "live.toml", LIVE.encode())
    assert "only a teacher can run live experiments; allowed: simulated" in refused.text
    assert "/launches/" not in re.sub(r"/launches/$", "", refused.url)
    refused = bert.post("/watch/policy", {"policy": "sq"})
    assert refused.status_code == 403
    assert "In classroom mode, only a teacher can change the shop." in refused.text
    answer = teacher.upload("spec", "/upload/", "live.toml", LIVE.encode())
    launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
    teacher.wait_until(launch, "failed")  # there is no appliance, which is another matter


def test_only_whose_run_is_under_way_changes_it(people, laboratory, runs_of):
    teacher, bert, carla = (replace(one, port=laboratory.port) for one in people)

    def may_change() -> list[bool]:
        sent = {"policy": "sq", "admission": "none"}
        answers = [one.post("/watch/policy", sent).status_code for one in (bert, carla, teacher)]
        assert {*answers} <= {200, 403}
        return [answer == 200 for answer in answers]

    assert may_change() == [False, False, True]
    bert_s = {"title": "Of Bert", "by": "bert"}
    with live_launch(laboratory, "berts", "running", **bert_s):  # it waits, and holds nothing
        assert may_change() == [False, False, True]
        runs_of(laboratory)[0]()  # of a terminal
        assert may_change() == [False, False, True]
    (told,) = live_runs.under_way(laboratory.state)
    with live_launch(laboratory, "berts", "running", **bert_s, result=told["experiment"]):
        assert may_change() == [True, False, True]


def test_students_write_notes_and_delete_nothing(people):
    teacher, bert, _ = people
    launch = launched_by(bert, "Noted")
    bert.wait_until(launch, "done")
    result = bert.result_of(launch)
    bert.post(f"/results/{result}/note", {"text": "Many left."})
    assert "bert</footer>" in teacher.get(f"/results/{result}/").text
    for answer in (bert.get(f"/results/{result}/delete"), bert.post(f"/results/{result}/delete")):
        assert answer.status_code == 403
        assert "Only a teacher can delete this result" in answer.text
    teacher.post(f"/results/{result}/delete")
    assert bert.get(f"/results/{result}/").status_code == 404


def alone(state: Path, **more: str) -> Console:
    """Return a console with a separate state folder, and without running processes."""
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    environment |= {"DOORBUSTER_STATE_DIR": str(state), "DOORBUSTER_LAB_ACCOUNTS": "1", **more}
    return Console(0, state, state, environment)


def test_accounts_are_made_before_the_console_was_ever_started(tmp_path):
    console = alone(tmp_path / "deep" / "state")
    made = run(console, "teacher", "anna")
    assert (made.returncode, made.stderr) == (0, "")
    assert re.fullmatch(r"anna,\S{8,}\n", made.stdout)
    assert (console.state / MARKER).is_file()  # `make reset` takes it for its own
    made = run(console, "students", "-", given="\ufeffname,group\nbert,1\n")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("bert,")


def test_faults_of_the_machine_are_one_line(tmp_path):
    database = tmp_path / "damaged/console/console.sqlite3"
    database.parent.mkdir(parents=True)
    database.write_text("no database" * 100)
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    for console, said in (
        (alone(tmp_path / "damaged"), "console.sqlite3 cannot be used"),
        (alone(in_the_way), "Not a directory"),
        (alone(in_the_way / "state"), "set DOORBUSTER_STATE_DIR"),
        (alone(tmp_path, DOORBUSTER_LAB_PORT="x"), "DOORBUSTER_LAB_PORT=x"),
    ):
        made = run(console, "teacher", "anna")
        assert made.returncode == 1
        assert made.stderr.startswith("Error: ")
        assert said in made.stderr
        assert made.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ({"DOORBUSTER_HOST": "0.0.0.0"}, "127.0.0.1"),
        ({"DOORBUSTER_HOST": "lab.example"}, "127.0.0.1"),
        ({"DOORBUSTER_HOST": "::1"}, "::1"),
        ({"DOORBUSTER_HOST": "0.0.0.0", "DOORBUSTER_LAB_ACCOUNTS": "1"}, "0.0.0.0"),
    ],
)
def test_only_with_accounts_the_console_listens_beyond_this_machine(tmp_path, given, host):
    assert load(given, tmp_path).lab_host == host


def test_a_classroom_needs_accounts(tmp_path):
    with pytest.raises(SettingsError, match="set DOORBUSTER_LAB_ACCOUNTS=1 too"):
        load({"DOORBUSTER_LAB_CLASSROOM": "1"}, tmp_path)


def test_a_console_that_would_be_open_to_all_stays_here_and_says_so(console, tmp_path):
    (port,) = ports.free(1)
    alone = replace(console, port=port)
    with served(
        alone,
        tmp_path,
        DOORBUSTER_HOST="0.0.0.0",
        DOORBUSTER_LAB_ACCOUNTS="0",  # the classroom beside it has them in this process
        DOORBUSTER_LAB_CLASSROOM="0",
    ):
        listening = {
            one.laddr.ip for one in psutil.net_connections("tcp") if one.laddr.port == port
        }
    assert listening == {"127.0.0.1"}
    assert "fix: set DOORBUSTER_LAB_ACCOUNTS=1" in (tmp_path / "serve.log").read_text()


def test_accounts_that_are_off_are_made_and_said_to_be_off(console):
    made = run(console, "students")  # without its file
    assert made.returncode == 2
    made = run(console, "student", "eve")
    assert made.returncode == 0
    assert "DOORBUSTER_LAB_ACCOUNTS=1" in made.stderr
