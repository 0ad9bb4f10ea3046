"""The check of a student's policy: the result for a good one, the messages for the others."""

import time

import pytest

from lab.students import validator
from lab.students.template import write_policy
from tests.gateway.students.policies import source

ALL = ["pure", "sheet", "confined", "rules", "every request", "switched", "replay", "time"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Switch the limits of speed off: on a busy machine a decision may take long."""
    monkeypatch.setattr(validator, "SLOW_US", 1e9)
    monkeypatch.setattr(validator, "SESSIONS", 40)
    monkeypatch.setattr(validator, "STEPS", 120)
    monkeypatch.setattr(validator, "RUSH", 400)
    monkeypatch.setattr(validator, "MANY", 500)


def checked(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return validator.check(path)


def failure(tmp_path, text):
    """Return (check, message) of the first finding that fails."""
    found = checked(tmp_path, text)
    assert not found.is_valid
    return next((one.check, one.says) for one in found.findings if not one.holds)


def test_the_template_holds_all_of_it(tmp_path):
    policy, _ = write_policy("quiet-door", tmp_path)
    found = validator.check(policy)
    assert [(one.check, one.holds) for one in found.findings] == [(name, True) for name in ALL]
    assert found.sheet.name == "quiet-door"


def test_all_impurities_are_said_and_nothing_is_run(tmp_path):
    found = checked(tmp_path, "import os\nprint(1 / 0)\n")
    (only,) = found.findings
    assert only.says.splitlines() == [
        "line 1: import os: a policy must not use files or processes",
        "line 2: print: its output is not shown; let snapshot() return what you want to show",
    ]


def test_source_that_python_does_not_take_is_a_finding(tmp_path):
    for text in ("def", "x = " + " + ".join(["1"] * 20_000), "x = 1\0"):
        (only,) = checked(tmp_path, text).findings
        assert (only.check, only.holds) == ("pure", False)
        assert only.says


def test_one_that_paces_itself_by_a_timer_holds_all_of_it(tmp_path):
    """It serves one request in 0.2 s, and wants a timer only while requests wait."""
    text = source(
        workers_free="""
if time_s < self.next_s or not len(self.line):
    self.asked_s = time_s
    return NOTHING
self.next_s = time_s + 0.2
free = 1
""",
        more="""
next_s = 0.0
asked_s = 0.0

def next_timer_s(self):
    return max(self.next_s, self.asked_s) if len(self.line) else None

def timer_due(self, time_s):
    self.asked_s = time_s + 0.2
    return NOTHING
""",
    )
    found = checked(tmp_path, text.replace('"capacity", 3', '"capacity", 50'))
    assert [(one.check, one.holds, one.says) for one in found.findings if not one.holds] == []


def test_one_that_wants_timers_for_ever_holds_all_of_it(tmp_path):
    text = source(
        more="""
timer_s = 5.0

def next_timer_s(self):
    return self.timer_s

def timer_due(self, time_s):
    self.timer_s = time_s + 5.0
    return NOTHING
"""
    )
    found = checked(tmp_path, text)
    assert [(one.check, one.holds, one.says) for one in found.findings if not one.holds] == []


@pytest.mark.parametrize(
    ("change", "check", "words"),
    [
        ({"workers_free": "1 / 0"}, "rules", "line 30, in workers_free: 1 / 0: ZeroDivision"),
        ({"arrival": "return (Dispatch(request.id),)"}, "rules", "only workers_free may dispatch"),
        ({"workers_free": "return [Dispatch(r.id) for r in list(self.line)[:free]]"}, "rules",
         "Take a request out of your queue"),
        ({"more": "def withdraw(self, time_s, id): pass"}, "rules",
         "but the request no longer waits. Take a request out of"),
    ],
)  # fmt: skip
def test_a_failure_teaches(change, check, words, tmp_path):
    found, says = failure(tmp_path, source(**change))
    assert found == check
    assert words in says


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "check", "words"),
    [
        ({"workers_free": "if len(self.line) < 3: return NOTHING"}, "every request",
         "though workers were free and 2 requests waited; answer workers_free with Dispatch"),
        (
            {
                "workers_free": "if len(self.line) < 3: return NOTHING",
                "more": """
timer_s = 0.0

def next_timer_s(self):
    return self.timer_s

def timer_due(self, time_s):
    self.timer_s = time_s + 0.01
    return NOTHING
""",
            },
            "every request",
            "though workers were free and 2 requests waited; answer workers_free with Dispatch",
        ),
        ({"more": "def adopt(self, time_s, requests): pass"}, "switched", "also in adopt"),
        ({"arrival": "if Random(None).random() < 0.5: return [Drop(request.id, 'bad luck')]"},
         "replay", "draw random numbers from random.Random(seed)"),
    ],
)  # fmt: skip
def test_what_only_shows_later_teaches_too(change, check, words, tmp_path):
    found, says = failure(tmp_path, "from random import Random\n" + source(**change))
    assert found == check
    assert words in says


def test_a_sheet_is_looked_at_first(tmp_path):
    check, words = failure(
        tmp_path, source().replace('idea="First come, first served."', 'idea=""')
    )
    assert (check, words) == ("sheet", "SHEET: idea is empty; it must be a short text")
    check, words = failure(tmp_path, source().replace("def make(*, capacity)", "def make(*, size)"))
    assert check == "sheet"
    assert "unexpected keyword argument 'capacity'" in words


def test_who_is_slow_with_many_waiting_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(validator, "SLOW_US", 0.0)
    check, words = failure(tmp_path, source())
    assert check == "time"
    assert "Look for code that goes through all requests each time" in words


def test_a_busy_machine_makes_no_policy_slow(tmp_path, monkeypatch):
    """The clock runs a hundred times as fast as the CPU; the result shows it, without an effect."""
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 1e6 * clock())
    monkeypatch.setattr(validator, "SLOW_US", 1e6)
    found = checked(tmp_path, source())
    last = found.findings[-1]
    assert (last.check, last.holds) == ("time", True)
    first, _, by_clock = last.says.partition("elapsed time: ")
    cpu_us, real_us = (float(words.split()[0].replace(",", "")) for words in (first, by_clock))
    assert 0 < cpu_us < 1e6 < real_us
