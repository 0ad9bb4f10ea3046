"""Lessons show each sheet step by step, keep what people write, and launch experiments."""

import re
from pathlib import Path
from typing import Any

import pytest

from lab.cli.experiments import spec_of
from lab.lessons.sheet import sheets
from tests.lab.console.programs import told
from tests.labs.small_results import small_result

pytestmark = pytest.mark.slow


BEGIN = """
from html import unescape
from django.contrib.auth.models import User
from django.test import Client
from lab.console.lessons.starting import start_of
from lab.console.models import Answer, HandIn, StepLaunch
from lab.cli.experiments import spec_of
from lab.lessons.sheet import sheets
client = Client()

def page(address):
    found = client.get(address, secure=True)
    return [found.status_code, unescape(found.content.decode())]

def send(address, **fields):
    found = client.post(address, fields, secure=True)
    return [found.status_code, found.headers.get("Location"), unescape(found.content.decode())]
"""
UNREACHABLE = "redis://127.0.0.1:9/0"
"""No message needs to wake a worker here."""


def asked(folder: Path, program: str, **settings: str) -> Any:
    return told(folder, BEGIN + program, DOORBUSTER_CELERY_BROKER=UNREACHABLE, **settings)


def test_every_page_of_every_lesson_is_there_without_answers(
    tmp_path: Path,
) -> None:
    program = """
found = {"/lessons/": [page("/lessons/")[0], False]}
for sheet in sheets():
    own = f"/lessons/{sheet.number}/"
    for path in (own, own + "questions/", *(f"{own}steps/{one.number}/" for one in sheet.steps)):
        status, text = page(path)
        found[path] = [status, "instructor" in text]
outside = [page(path)[0] for path in ("/lessons/99/", "/lessons/1/steps/99/", "/lessons/class/")]
print(json.dumps([found, outside]))
"""
    found, outside = asked(tmp_path, program)
    assert outside == [404, 404, 404]  # a class needs accounts
    assert all(one == [200, False] for one in found.values()), found
    assert len(found) == 1 + sum(2 + len(sheet.steps) for sheet in sheets())


def test_links_of_a_sheet_lead_to_pages_of_the_console(tmp_path: Path) -> None:
    program = """
pages = ["/lessons/1/", "/lessons/1/steps/1/", "/lessons/1/steps/2/", "/lessons/7/questions/"]
print(json.dumps([page(path)[1] for path in pages]))
"""
    start, opening, buying, further = asked(tmp_path, program)
    assert 'href="/docs/labs/README.html#words"' in start
    assert re.search('href="http://testserver:[0-9]+/"', buying)
    assert '<a href="/">https://testserver/</a>' in opening
    assert 'href="/lessons/8/"' in further
    assert 'href="/docs/contributing.html#add-a-policy"' in further
    assert "127.0.0.1:80" not in start + opening + buying + further


def test_what_to_look_at_is_shown_after_the_prediction(tmp_path: Path) -> None:
    program = """
step = "/lessons/1/steps/6/"
before = page(step)[1]
empty = send(step + "predict", **{"prediction-6": ""})[0]
kept = send(step + "predict", **{"prediction-6": "Ten times <as> much"})[:2]
send(step + "predict", **{"prediction-6": "I knew it"})
print(json.dumps([before, empty, kept, page(step)[1]]))
"""
    before, empty, kept, after = asked(tmp_path, program)
    assert "Save my prediction" in before
    assert "Look at the result" not in before
    assert "Launch this step" not in before
    assert empty == 400
    assert kept == [302, "/lessons/1/steps/6/"]
    assert "Look at the result" in after
    assert "Ten times <as> much" in after
    assert "I knew it" not in after
    assert "Save my prediction" not in after


def test_a_button_launches_the_experiment_of_the_steps_command(tmp_path: Path) -> None:
    program = """
from lab.spec.experiment import read_spec
early = send("/lessons/1/steps/7/launch")[0]
for number, step in ((1, 7), (9, 2)):
    send(f"/lessons/{number}/steps/{step}/predict", **{f"prediction-{step}": "More"})
begun = send("/lessons/1/steps/7/launch")[:2]
own = send("/lessons/9/steps/2/launch")[:2]
send("/lessons/2/steps/5/launch")
found = [[one.step, one.launch.engine, one.launch.arguments] for one in StepLaunch.objects.all()]
specs = [read_spec(one.launch.spec, "") for one in StepLaunch.objects.all() if one.launch.spec]
none = [send("/lessons/1/steps/1/launch")[0], send("/lessons/7/steps/5/launch")[0]]
shown = page("/lessons/2/steps/5/")[1]
print(json.dumps([early, begun, own, found, none, shown,
    [[spec.load.sessions, spec.repetitions, [one.key for one in spec.policy]] for spec in specs]]))
"""
    early, begun, own, found, none, shown, specs = asked(tmp_path, program)
    assert early == 404  # the step first asks for a prediction
    assert begun == [302, "/lessons/1/steps/7/"]
    assert own == [302, "/lessons/9/steps/2/"]
    assert found == [
        [7, "simulated", []],
        [2, "simulated", []],
        [5, "simulated", ["reproduce", "lifo-pri", "--quick"]],
    ]
    assert specs[0] == [1500, 5, ["sq", "8q-lifo-pri"]]
    assert specs[1][2] == ["limit 16", "aimd", "gradient2", "envoy-adaptive-concurrency",
                           "8q-lifo-pri", "door-lifo"]  # fmt: skip
    assert none == [404, 404]
    assert 'id="launched"' in shown


def cells(page: str) -> dict[str, list[str]]:
    """The rows of the page's table of values: figure → the other cells as plain text."""
    table = page.partition('<table class="findings">')[2]
    body = table.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", body.replace("\n", " "))
    ]
    return {row[0]: row[1:] for row in rows}


def test_a_step_compares_the_values_of_its_result_with_the_bands(tmp_path: Path) -> None:
    """A quick run of other customers is outside some ranges, and inside others."""
    spec = spec_of(["simulate", "first-look", "--repetitions", "2"])
    made = small_result(spec, tmp_path / "results").name
    program = f"""
step = "/lessons/1/steps/7/"
send(step + "predict", **{{"prediction-7": "None"}})
without = page(step)[1]
send(step + "launch")
running = page(step)[1]
Launch.objects.update(state=State.DONE, result={made!r})
print(json.dumps([without, running, page(step)[1]]))
"""
    without, running, shown = asked(tmp_path, program)
    for early in (without, running):
        assert "0.45 to 0.9" not in early
        assert "appear here when this step has a result" in early
    found = cells(shown)
    assert len(found) == 4
    gain = "… 8Q-LIFO-Pri minus SQ: pages completed, percentage points"
    yours, outcome, expected, quiet, busy = found[gain]
    assert (expected, quiet, busy) == ("27.3", "25.5 to 29", "–")
    is_inside = 25.5 <= float(yours) <= 29
    assert outcome == ("in the range" if is_inside else "outside the range")


def test_an_open_page_of_a_step_polls_only_its_launch(tmp_path: Path) -> None:
    """The fragment has the values as soon as the launch has ended, and then stops the polling."""
    made = small_result(spec_of(["simulate", "first-look"]), tmp_path / "results").name
    program = f"""
step = "/lessons/1/steps/7/"
none = page(step + "launched")[0]
send(step + "predict", **{{"prediction-7": "None"}})
send(step + "launch")
Answer.objects.update(text="")  # an earlier version launched a step before its prediction
closed = page(step + "launched")[0]
Answer.objects.update(text="None")
waiting = page(step + "launched")
Launch.objects.update(state=State.DONE, result={made!r})
print(json.dumps([none, closed, waiting, page(step + "launched"), page(step)[1]]))
"""
    none, closed, (waits, waiting), (ends, ended), whole = asked(tmp_path, program)
    assert (none, closed) == (404, 404)
    assert waits == 200
    assert "<h1" not in waiting
    assert 'id="findings"' not in waiting
    assert ends == 286
    assert "<h1" not in ended
    assert f"/results/{made}/" in ended
    assert cells(ended) == cells(whole) != {}
    assert 'hx-swap-oob="true"' in ended
    assert "hx-swap-oob" not in whole


def test_a_result_of_a_terminal_can_be_chosen(tmp_path: Path) -> None:
    made = small_result(spec_of(["simulate", "sbac"]), tmp_path / "results").name
    program = f"""
step = "/lessons/1/steps/7/"
send(step + "predict", **{{"prediction-7": "None"}})
offered = page(step)[1]
send(step + "result", result={made!r})
chosen = page(step)[1]
nowhere = send(step + "result", result="nowhere")[0]
print(json.dumps([offered, chosen, nowhere]))
"""
    offered, chosen, nowhere = asked(tmp_path, program)
    assert f'value="{made}"' in offered
    assert f'value="{made}" selected' in chosen
    assert nowhere == 404


def test_a_typed_value_is_compared_with_its_band(tmp_path: Path) -> None:
    program = """
step = "/lessons/1/steps/3/"
seen = [page(step)[1]]
for typed in ("5.4", "4", "1,000"):
    seen.append(send(step + "values", **{"value-3-0": typed})[0])
    seen.append(page(step)[1])
wrong = [send(step + "values", **{"value-3-0": typed})[0] for typed in ("abc", "nan", "inf")]
print(json.dumps([seen, wrong]))
"""
    seen, wrong = asked(tmp_path, program)
    figure = "Capacity, requests per paper second"
    first, *pages = seen[0], *seen[2::2]
    assert cells(first)[figure][1:] == ["", "–", "–", "–"]
    assert [cells(page)[figure][1] for page in pages] == [
        "in the range",
        "in the range of a busy machine",
        "outside the range",
    ]
    assert wrong == [400, 400, 400]


def test_a_student_of_a_class_chooses_no_result_of_others(tmp_path: Path) -> None:
    made = small_result(spec_of(["simulate", "first-look"]), tmp_path / "results").name
    program = f"""
client.force_login(User.objects.create(username="bert"))
step = "/lessons/1/steps/7/"
send(step + "predict", **{{"prediction-7": "None"}})
print(json.dumps([page(step)[1], send(step + "result", result={made!r})[0]]))
"""
    shown, status = asked(tmp_path, program, DOORBUSTER_LAB_ACCOUNTS="1")
    assert made not in shown
    assert status == 404


def test_notes_mark_a_step_as_done_and_lead_to_the_next(tmp_path: Path) -> None:
    program = """
first = send("/lessons/2/steps/1/", **{"step-1": "FIFO loses twice as much"})[:2]
last = send("/lessons/2/steps/5/", **{"step-5": ""})[:2]
long = send("/lessons/2/steps/2/", **{"step-2": "x" * 10_001})[0]
print(json.dumps([first, last, long, page("/lessons/2/")[1], page("/lessons/2/steps/1/")[1],
                  page("/lessons/")[1]]))
"""
    first, last, long, lesson, step, lessons = asked(tmp_path, program)
    assert first == [302, "/lessons/2/steps/2/"]
    assert last == [302, "/lessons/2/questions/"]
    assert long == 400
    assert "Continue with step 2" in lesson
    assert "FIFO loses twice as much" in step
    assert "2 of 5 steps done" in lessons


def test_answers_are_kept_and_can_be_changed_and_removed(tmp_path: Path) -> None:
    program = """
ask = "/lessons/1/questions/"
send(ask, **{"question-1": "It cannot know which half", "question-2": "Orphans"})
send(ask, **{"question-1": "It does not know which half", "question-2": ""})
print(json.dumps([page(ask)[1], list(Answer.objects.values_list("field", flat=True))]))
"""
    shown, fields = asked(tmp_path, program)
    assert "It does not know which half" in shown
    assert "1 of 6 questions have an answer" in shown
    assert fields == ["question-1"]


def test_each_person_has_their_own_answers(tmp_path: Path) -> None:
    program = """
seen = [page("/lessons/1/questions/")[0]]
for name in ("bert", "carla"):
    client.force_login(User.objects.create(username=name))
    seen.append("Orphans" in page("/lessons/1/questions/")[1])
    send("/lessons/1/questions/", **{"question-2": "Orphans"})
print(json.dumps(seen))
"""
    assert asked(tmp_path, program, DOORBUSTER_LAB_ACCOUNTS="1") == [302, False, False]


def test_a_lesson_is_handed_in_as_one_file(tmp_path: Path) -> None:
    made = small_result(spec_of(["simulate", "first-look"]), tmp_path / "results").name
    program = f"""
own = "/lessons/1/"
send(own + "steps/7/predict", **{{"prediction-7": "In two.\\n# Not a heading"}})
send(own + "steps/7/launch")
Launch.objects.update(state=State.DONE, result={made!r})
send(own + "steps/7/", **{{"step-7": "They do."}})
send(own + "steps/3/values", **{{"value-3-0": "5.4"}})
for answer in ("Nothing", "Orphans"):  # the second replaces the first
    leads = send(own + "questions/", **{{"question-2": answer, "hand-in": ""}})[1]
shown = page(leads)[1]
copy = client.get("/lessons/handed-in/1.md", secure=True)
print(json.dumps([shown, copy.headers["Content-Disposition"], copy.content.decode()]))
"""
    shown, name, text = asked(tmp_path, program)
    assert "Handed in on" in shown
    assert name == 'attachment; filename="lab-1.md"'
    assert text.startswith("# Lab 1: Watch a shop collapse\n")
    assert "\n> In two.\n> # Not a heading\n" in text
    assert f"Result: `{made}`" in text
    assert "| Capacity, requests per paper second | 5.4 | in the range | 5.5 |" in text
    assert "| … of 8Q-LIFO-Pri | " in text
    assert "\n> They do.\n" in text
    assert "\n> Orphans\n" in text
    assert "> Nothing" not in text
    assert text.count("This step is not marked as done.") == 7


def test_a_teacher_sees_the_class_and_students_only_their_own(tmp_path: Path) -> None:
    program = """
import io, zipfile
def get(address):
    return client.get(address, secure=True)
for name in ("bert", "carla"):
    client.force_login(User.objects.create(username=name))
    send("/lessons/2/steps/1/", **{"step-1": f"by {name}"})
    send("/lessons/2/questions/", **{"hand-in": ""})
mine, theirs = (HandIn.objects.get(by=name).pk for name in ("carla", "bert"))
student = [get(path).status_code for path in (
    f"/lessons/handed-in/{mine}.md", f"/lessons/handed-in/{theirs}.md",
    "/lessons/class/", "/lessons/class/2.zip")]
client.force_login(User.objects.create(username="anna", is_staff=True))
shown = get("/lessons/class/").content.decode()
packed = zipfile.ZipFile(io.BytesIO(get("/lessons/class/2.zip").content))
texts = {name: packed.read(name).decode() for name in packed.namelist()}
bert = User.objects.get(username="bert")
client.post(f"/people/{bert.pk}/delete", {"sure": "on"}, secure=True)
left = [list(kept.objects.values_list("by", flat=True)) for kept in (HandIn, Answer)]
print(json.dumps([student, shown, texts, left]))
"""
    student, shown, texts, left = asked(tmp_path, program, DOORBUSTER_LAB_ACCOUNTS="1")
    assert student == [200, 403, 403, 403]
    assert shown.count("1 of 5 steps") == 2
    assert shown.count('href="/lessons/handed-in/') == 2
    assert '<th scope="row">anna</th>' in shown
    assert set(texts) == {"lab-2-bert.md", "lab-2-carla.md"}
    assert "> by bert" in texts["lab-2-bert.md"]
    assert left == [["carla"], ["carla"]]


def test_a_student_of_a_class_launches_no_live_step(tmp_path: Path) -> None:
    program = """
client.force_login(User.objects.create(username="bert"))
step = "/lessons/1/steps/5/"
print(json.dumps([page(step)[1], send(step + "launch")[0], Launch.objects.count()]))
"""
    settings = {"DOORBUSTER_LAB_ACCOUNTS": "1", "DOORBUSTER_LAB_CLASSROOM": "1"}
    shown, status, launches = asked(tmp_path, program, **settings)
    assert "only a teacher can run live experiments" in shown
    assert "Launch this step" not in shown
    assert status == 302
    assert launches == 0
