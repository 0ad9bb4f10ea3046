"""A student's launch is measured before it is planned; errors name people who can raise a limit."""

import html
import re

import pytest

from tests.lab.console import programs
from tests.lab.console.conftest import FORM

pytestmark = pytest.mark.slow


_STUDENT = """
import io, time
from django.contrib.auth.models import User
from django.test import Client
from lab.console.launches import workers
workers.tell = lambda: None  # nobody carries anything out here

def person(name, **more):
    user = User.objects.create(username=name, **more)
    client = Client()
    client.force_login(user)
    return client

student = person("bob")
teacher = person("anna", is_staff=True)
LAUNCH = "/launch/lifo-pri-simulated/"

def sent(client, path, data, name=None, content=b""):
    if name:
        data = {**data, name: io.BytesIO(content)}
        data[name].name = "my.toml"
    began_cpu_s = time.process_time()
    answer = client.post(path, data, follow=True, secure=True)
    assert time.process_time() - began_cpu_s < 5, path
    return answer.content.decode()

def spec(policies=1, loads=1, repetitions=1, sessions=100):
    each = "".join(f"[[policy]]\\nname = 'sq'\\nlabel = 'p{i}'\\n" for i in range(policies))
    rho = ",".join(str(1 + i / 100) for i in range(loads))
    return (
        f"version = 1\\ntitle = 'Large'\\nengine = 'simulated'\\nrepetitions = {repetitions}\\n"
        f"{each}[load]\\nrho = [{rho}]\\nsessions = {sessions}\\n"
    ).encode()
"""


def told(folder, program, **settings):
    """The texts that a program prints, as a person reads them."""
    given = f"FORM = {FORM!r}\n" + _STUDENT + program
    found = programs.told(folder, given, DOORBUSTER_LAB_ACCOUNTS="1", **settings)
    return [
        html.unescape(re.sub(r"\s+", " ", one)) if isinstance(one, str) else one for one in found
    ]


def test_a_spec_that_asks_for_too_much_is_refused_before_it_is_planned(tmp_path):
    program = """
upload = lambda client, **size: sent(client, "/upload/", {}, "spec", spec(**size))
print(json.dumps([
    upload(student, policies=50, loads=50, repetitions=40),
    upload(student, repetitions=1000, sessions=1_000_000),
    upload(teacher, policies=50, loads=50, repetitions=40),
    sent(student, LAUNCH, FORM | {"repetitions": "1000", "rho": "1.1,1.2"}),
    sent(student, LAUNCH + "predict", FORM | {"repetitions": "1000", "rho": "1.1,1.2"}),
    sent(student, LAUNCH + "predict", FORM),
    sent(student, LAUNCH, FORM | {"repetitions": "1000", "rho": "1.1,1.2", "download": "1"}),
    Launch.objects.count(),
    upload(teacher, policies=3, loads=1, repetitions=1000),
    Launch.objects.count(),
]))
"""
    found = told(tmp_path, program)
    raised = "A teacher can do it for you, or the administrator can raise"
    assert f"Runs in one launch: 100,000; allowed: 2,000 for a student. {raised}" in found[0]
    assert "Expected time of one launch: " in found[1]
    assert f"allowed: 30 min for a student. {raised} expected_s_per_launch" in found[1]
    assert "allowed: 20,000 for a teacher. Without --server, the command line" in found[2]
    assert "Runs in one launch: 4,000; allowed: 2,000" in found[3]
    assert "Runs in one launch: 4,000; allowed: 2,000" in found[4]
    assert "Takes about" in found[5]
    assert "repetitions = 1000" in found[6]
    assert (found[7], found[9]) == (0, 1)


def test_texts_that_keep_a_parser_busy_are_refused(tmp_path):
    """A student's file is read in a process with limits; the refusal is one line."""
    program = """
upload = lambda text: sent(student, "/upload/", {}, "spec", text)
print(json.dumps([
    upload(b"a" + b".a" * 30_000 + b" = 1"),
    upload(b"version = 1\\nseed = 0x" + b"f" * 60_000),
    upload(b"[[[" * 20_000),
    upload(b"x" * 70_000),
    upload(b"version = 1\\nseed = " + b"9" * 40),
    Launch.objects.count(),
]))
"""
    found = told(tmp_path, program)
    assert "my.toml: a.a.a" in found[0]
    assert "keys and numbers of at most 64" in found[1]
    assert "nested too deeply" in found[2]
    assert "Size of a spec file: 68.36 KiB; allowed: 64 KiB" in found[3]
    assert "seed: " in found[4]
    assert found[5] == 0


def test_what_is_done_often_is_limited_for_each_person(tmp_path):
    program = """
predicted = [sent(student, LAUNCH + "predict", FORM) for _ in range(4)]
uploaded = [sent(student, "/upload/", {}, "spec", b"x") for _ in range(3)]
launched = [sent(student, LAUNCH, FORM) for _ in range(3)]
print(json.dumps([
    predicted[2], predicted[3], uploaded[1], uploaded[2], launched[2],
    sent(teacher, LAUNCH + "predict", FORM), student.get("/limits/", secure=True).content.decode(),
]))
"""
    found = told(
        tmp_path,
        program,
        DOORBUSTER_LAB_STUDENT_LIMITS="predictions_per_minute=3 uploads_per_minute=2 "
        "launches_per_minute=2",
    )
    assert "Takes about" in found[0]
    assert "Predictions of launch durations in a minute: 4; allowed: 3 for a student." in found[1]
    assert "You can try again in" in found[1]
    assert "not TOML" in found[2]
    assert "Spec and policy files sent in a minute: 3; allowed: 2 for a student." in found[3]
    assert "Launches in a minute: 3; allowed: 2 for a student." in found[4]
    assert "Takes about" in found[5]
    assert "the limits of a student" in found[6]
    assert "<td>Launches that wait in the queue</td><td>5</td><td>2</td>" in found[6]


@pytest.mark.parametrize("command", ["prepare", "serve", "work"])
def test_no_part_of_the_console_starts_with_a_wrong_limit(tmp_path, command):
    """`make up` shows the names that are allowed, and no traceback."""
    made = programs.command(tmp_path, command, DOORBUSTER_LAB_STUDENT_LIMITS="runs=5")
    assert made.returncode == 1
    assert made.stderr.startswith("Error: DOORBUSTER_LAB_STUDENT_LIMITS: 'runs' is not a limit")
    assert made.stderr.count("\n") == 1
