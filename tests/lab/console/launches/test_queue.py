"""Turns in the queue: between people, with a place for short simulations."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab.console import programs

_BEGIN = """
def ask(title, by, expected_s=600, engine="simulated", **more):
    one = Launch(title=title, by=by, expected_s=expected_s, engine=engine, **more)
    return queue.enqueue(one)

def claimed():
    one = queue.claim()
    return one and one.title

def done(title):
    one = Launch.objects.get(title=title)
    queue.end(one, State.DONE)

def line():
    return [(one.title, starts_in_s) for one, starts_in_s in queue.line()]

queue.SIMULATED_AT_ONCE = 1
"""


def told(folder: Path, program: str) -> Any:
    """Return the output of a program that has the queue of an empty console."""
    return programs.told(folder, _BEGIN + program)


def test_a_short_launch_is_next_after_twenty_long_ones_of_another_person(tmp_path):
    program = """
for number in range(20):
    ask(f"mal {number}", "mal", 1000)
began = claimed()
ask("bob", "bob", 500)
before = line()[:3]
done("mal 0")
print(json.dumps([began, before, claimed(), claimed()]))
"""
    found = told(tmp_path, program)
    assert found == ["mal 0", [["bob", 1000], ["mal 1", 1500], ["mal 2", 2500]], "bob", None]


def test_people_take_turns_by_what_they_have_used(tmp_path):
    """Runs of the last hour count; a person's launches keep their order."""
    program = """
now = timezone.now()
for by, ended_s in (("ann", 60), ("bob", 3 * 3600)):
    ended_at = now - timedelta(seconds=ended_s)
    Launch.objects.create(title=f"old {by}", by=by, engine="simulated", state=State.DONE,
                          began_at=ended_at - timedelta(seconds=900), ended_at=ended_at)
for by in ("ann", "bob", "eve"):
    for number in (1, 2):
        ask(f"{by} {number}", by, 600)
used = {by: round(s) for by, s in queue.used_s("simulated").items()}
titles = [title for title, _ in line()]
begun = []
while (title := claimed()):
    begun.append(title)
    done(title)
print(json.dumps([used, titles, begun]))
"""
    found = told(tmp_path, program)
    turns = ["bob 1", "eve 1", "bob 2", "eve 2", "ann 1", "ann 2"]
    assert found[:2] == [{"ann": 900}, turns]
    assert sorted(found[2]) == sorted(turns)
    assert found[2][0] == "bob 1"


def test_a_quick_launch_does_not_wait_for_a_long_one(tmp_path):
    program = """
ask("long", "mal", 1800)
ask("longer", "eve", 1800)
begun = [claimed(), claimed()]
ask("quick", "bob", 20)
ask("quick too", "bob", 20)
waiting = line()
begun += [claimed(), claimed()]
done("long")
begun += [claimed(), claimed()]
print(json.dumps([waiting, begun]))
"""
    found = told(tmp_path, program)
    assert found[0] == [["quick", 0], ["quick too", 20], ["longer", 1800]]
    assert found[1] == ["long", None, "quick", None, "longer", None]


def test_quick_launches_leave_the_long_place_free(tmp_path):
    program = """
for number in range(4):
    ask(f"quick {number}", "bob", 20)
begun = [claimed()]
ask("long", "eve", 1800)
print(json.dumps(begun + [claimed(), claimed()]))
"""
    found = told(tmp_path, program)
    assert found == ["quick 0", "long", None]


def test_a_teacher_puts_a_launch_first_and_one_that_gives_way_is_last(tmp_path):
    """Both override the turns, live and simulated; new launches keep a place above 0."""
    program = """
ask("first look", "", 60, "live", gives_way=True)
for by in ("ann", "bob"):
    for number in (1, 2):
        ask(f"{by} {number}", by, 600, "live")
queue.move_first(Launch.objects.get(title="bob 2"))
queue.move_first(Launch.objects.get(title="ann 2"))
ask("eve 1", "eve", 600, "live")
print(json.dumps([line(), Launch.objects.get(title="eve 1").place, claimed()]))
"""
    found = told(tmp_path, program)
    titles = [title for title, _ in found[0]]
    assert titles == ["ann 2", "bob 2", "eve 1", "ann 1", "bob 1", "first look"]
    assert found[1:] == [5, "ann 2"]


@pytest.mark.parametrize(
    ("expected_s", "words"),
    [(60, "Launches that wait in the queue: 6; allowed: 5"), (1500, "allowed: 60 min")],
)
def test_a_person_has_a_part_of_the_queue(tmp_path, expected_s, words):
    program = f"""
said = []
for number in range(6):
    one = Launch(title=str(number), by="mal", expected_s={expected_s}, engine="simulated")
    try:
        queue.enqueue(one, STUDENT)
    except AllowanceError as fault:
        said.append(str(fault))
queue.enqueue(Launch(title="bob", by="bob", expected_s=60, engine="simulated"), STUDENT)
print(json.dumps(said))
"""
    found = told(tmp_path, program)
    assert words in found[0]


def test_a_launch_that_moves_on_meanwhile_stays_on_the_page(tmp_path):
    """The page is read list by list; a launch that begins or ends in between stands there once."""
    program = """
from lab.console.launches import views

ask("moving", "ann")
asked, move = queue.line, queue.claim

def moving():
    found = asked()
    move()
    return found

queue.line = moving
titles = lambda page: [
    [one.title for one, *_ in page["ended"]],
    [one.title for one, *_ in page["running"]],
    [one.title for _, one, *_ in page["queued"]],
]
began = titles(views.queue_lists())
move = lambda: done("moving")
ended = titles(views.queue_lists())
print(json.dumps([began, ended]))
"""
    found = told(tmp_path, program)
    assert found == [[[], ["moving"], []], [["moving"], [], []]]


def test_an_overdue_launch_shows_no_time_left(tmp_path):
    program = """
ask("overdue", "bob", 30)
ask("other", "eve", 30)
queue.claim()
Launch.objects.filter(state=State.RUNNING).update(
    began_at=timezone.now() - timedelta(seconds=40), done_ratio=0.9)
overdue = Launch.objects.get(state=State.RUNNING)
other = Launch(title="new", expected_s=30, began_at=timezone.now(), done_ratio=0.5)
print(json.dumps([queue.shown_left_s(overdue), queue.shown_left_s(other)]))
"""
    found = told(tmp_path, program)
    assert found == [None, 15]
