"""Downloads are packed a few at a time; a result in progress cannot be deleted."""

from tests.lab.console import programs

_PERSON = """
from contextlib import ExitStack
from django.contrib.auth.models import User
from django.test import Client
from lab.console.site import allowances
from lab.console.site.settings import LAB
from lab.console.results import download_views as downloads

downloads.PATIENCE_S = 0.01

def person(name, **more):
    client = Client()
    client.force_login(User.objects.create(username=name, **more))
    return client

def made(name):
    folder = LAB.results_dir / name
    (folder / "tables").mkdir(parents=True)
    (folder / "reproduction.json").write_text("{}")
    (folder / "report.html").write_text("<p>Sold")
    (folder / "tables" / "table-1-1.csv").write_text("a,b\\n1,2\\n")
    return folder

def asked(client, file):
    answer = client.get(f"/results/{RESULT.name}/{file}", secure=True)
    words = "" if answer.status_code == 200 else answer.content.decode()
    content = b"".join(answer) if answer.status_code == 200 else b""
    answer.close()
    return [answer.status_code, answer.headers.get("Retry-After"), words, len(content)]

FILES = ("bundle.zip", "page.html", "table/0.csv", "runs/none/attempts.csv")
RESULT = made("20260101T000000Z-kept")
bob, carl = person("bob"), person("carl")
"""


def told(folder, program, **settings):
    """Return the output of a program whose two students look at one result."""
    return programs.told(folder, _PERSON + program, DOORBUSTER_LAB_ACCOUNTS="1", **settings)


def test_a_person_packs_one_download_and_everybody_two(tmp_path):
    program = """
of_one, of_all = [], []
with downloads._ACTION_LIMIT.turn("bob", 0):
    of_one += [asked(bob, file) for file in FILES]
    other = asked(carl, "bundle.zip")
with ExitStack() as turns:
    for number in range(allowances.DOWNLOADS_AT_ONCE):
        turns.enter_context(downloads._ACTION_LIMIT.turn(str(number), 0))
    of_all += [asked(bob, file) for file in FILES]
after = [asked(bob, file)[0] for file in FILES]
print(json.dumps([of_one, other, of_all, after]))
"""
    found = told(tmp_path, program)
    of_one, other, of_all, after = found
    own = "The console is packing another download for you. Try again in 10 s.\n"
    assert of_one == [[429, "10", own, 0]] * 4
    assert other[0] == 200
    assert other[3] > 0
    others = "The console is packing downloads for other people. Try again in 10 s.\n"
    assert of_all == [[429, "10", others, 0]] * 4
    assert after == [200, 200, 200, 404]


def test_downloads_of_one_person_in_a_minute_are_limited(tmp_path):
    found = told(
        tmp_path,
        'print(json.dumps([asked(bob, "table/0.csv") for _ in range(3)] '
        '+ [asked(carl, "page.html")]))',
        DOORBUSTER_LAB_STUDENT_LIMITS="downloads_per_minute=2",
    )
    assert [one[0] for one in found] == [200, 200, 429, 200]
    _, wait_s, words, _ = found[2]
    assert 0 < int(wait_s) <= 60
    assert "in a minute: 3; allowed: 2 for a student." in words
    assert words.endswith(f"You can try again in {wait_s} s.\n")


def test_a_result_that_no_console_would_import_is_not_packed(tmp_path):
    program = """
with (RESULT / "run.log").open("wb") as log:
    log.truncate(allowances.TEACHER.bundle_unpacked_bytes + 1)  # takes no room on the disk
print(json.dumps(asked(bob, "bundle.zip")))
"""
    found = told(tmp_path, program)
    assert found[:2] == [422, None]
    assert found[2] == (
        "The files of this result have 4 GiB; allowed in a bundle: at most 4 GiB. "
        "The administrator can copy the result's folder from this machine.\n"
    )


def test_a_result_in_progress_cannot_be_deleted(tmp_path):
    """A launch that runs would write its next run into a folder without a plan."""
    program = """
anna = person("anna", is_staff=True)
address = f"/results/{RESULT.name}/delete"
launch = Launch.objects.create(title="x", engine="live", result=RESULT.name, state=State.RUNNING)
found = [anna.post(address, secure=True)["Location"], RESULT.exists()]
launch.state = State.DONE
launch.save()
found += [anna.post(address, secure=True)["Location"], RESULT.exists()]
print(json.dumps(found + [list(map(str, LAB.results_dir.glob(".deleted-*")))]))
"""
    refused, is_kept, deleted, is_there, left_over = told(tmp_path, program)
    assert refused.endswith("-kept/")
    assert is_kept
    assert deleted == "/results/"
    assert not is_there
    assert left_over == []
