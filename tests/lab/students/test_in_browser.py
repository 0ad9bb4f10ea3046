"""The browser's check and runs of a policy, in a bare Python: the same as those of the lab."""

import io
import json
import zipfile

import pytest

from gateway.students import naming
from gateway.students.calls import PolicyFile
from lab.playground import experiment, sources
from lab.students import in_browser
from lab.students.template import policy_text
from tests.programs import python

NAME = "own/quiet_door.py"
TEXT = policy_text("quiet-door")
CHOICE = {"rho": 2.0, "sessions": 200, "seed": 3}
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from lab.students import in_browser
for call in json.load(sys.stdin):
    getattr(in_browser, call[0])(*call[1:], print)
"""


def parts(function, text=TEXT, *more):
    """Return everything that a function tells."""
    told = []
    function(NAME, text, *more, lambda part: told.append(json.loads(part)))
    return told


def test_a_run_equals_the_confined_process_s():
    """The policy decides in the same way, so that every metric is the same."""
    text = TEXT.replace("Discipline.FIFO", "Discipline.LIFO")
    (part,) = parts(in_browser.run, text, json.dumps(CHOICE))
    confined = naming.create(PolicyFile(NAME, text), {})
    assert part["run"]["metrics"] == experiment.run(CHOICE, confined)["metrics"]
    assert part["run"]["fallen_back"] is None


def test_the_archive_needs_nothing_else(tmp_path):
    """Without site-packages and without the checkout, the template is valid and runs."""
    with zipfile.ZipFile(io.BytesIO(sources.archive(in_browser.__name__))) as archive:
        archive.extractall(tmp_path)
    calls = [["check", NAME, TEXT], ["run", NAME, TEXT, json.dumps(CHOICE)]]
    sent = json.dumps(calls)
    done = python("-I", "-S", "-c", PROGRAM, tmp_path, cwd=tmp_path, input=sent, check=True)
    *findings, valid, run = map(json.loads, done.stdout.splitlines())
    assert [one["finding"]["check"] for one in findings] == [
        *("pure", "sheet", "rules", "every request", "switched", "replay", "time")
    ]
    assert valid == {"valid": True}, findings
    assert [run] == parts(in_browser.run, TEXT, json.dumps(CHOICE))


@pytest.mark.parametrize(
    ("changed", "check", "says"),
    [
        (("from collections", "import time\nfrom collections"), "pure", "every event has a time"),
        (("return NOTHING", "return None"), "rules", "arrival returned None"),
        (("return NOTHING", "return 1 / 0"), "rules", "ZeroDivisionError"),
        (("SHEET = ", "SHOT = "), "sheet", "the file has no SHEET"),
    ],
)
def test_a_fault_ends_the_check_with_its_fix(changed, check, says):
    """A fault in the file names its line, which the editor marks."""
    text = TEXT.replace(*changed, 1)
    *_, last, valid = parts(in_browser.check, text)
    assert valid == {"valid": False}
    assert last["finding"]["check"] == check
    assert says in last["finding"]["says"]
    lines = text.splitlines()
    for mark in last["finding"]["marks"]:
        assert lines[mark["line"] - 1].strip() in changed[1]


def test_a_policy_that_fails_in_a_run_is_replaced_by_fifo_and_its_line_named():
    text = TEXT.replace("number = min(free, len(self.queue))", "number = free // 0")
    (part,) = parts(in_browser.run, text, json.dumps(CHOICE))
    fallen = part["run"]["fallen_back"]
    assert "ZeroDivisionError" in fallen["says"]
    assert "number" in text.splitlines()[fallen["marks"][0]["line"] - 1]


def test_a_comparison_has_paired_differences_to_both_rivals():
    *progress, last = parts(in_browser.compare, TEXT, json.dumps({"rho": 1.4, "sessions": 100}))
    assert progress[-1]["progress"] == {"done": 15, "of": 15}
    own, *rivals = last["comparison"]["rows"]
    assert [one["policy"] for one in rivals] == list(in_browser.RIVALS)
    assert own["difference"] == ""
    assert all("±" in one["difference"] for one in rivals)


@pytest.mark.parametrize(
    ("name", "text", "choice", "says"),
    [
        ("own/sq.py", TEXT, CHOICE, "a policy of Doorbuster already has the name sq"),
        (NAME, "import os\n" + TEXT, CHOICE, "line 1: import os"),
        (NAME, TEXT, {"rho": 9}, "rho: 9; allowed: a number from 0.5 to 4"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(name, text, choice, says):
    told = []
    in_browser.run(name, text, json.dumps(choice), told.append)
    (part,) = map(json.loads, told)
    assert says in part["fault"]["says"]
