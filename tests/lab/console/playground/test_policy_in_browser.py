"""A policy is written, checked, run, compared and submitted in a real browser; a loop is ended."""

import json
import re

import pytest

from lab.analysis.cells import bound_of_spec
from lab.analysis.outcomes import outcomes_of
from lab.engines.capacity import computed
from lab.engines.simulated.run import scenario_of
from lab.playground import pyodide
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.students import template
from loadgen.records.attempt_log import AttemptLog
from simulator.simulation import simulate
from tests.lab.console.browsing import press, when
from tests.lab.console.conftest import visiting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

READY = "document.getElementById('state').textContent === 'Ready.'"
DONE = "document.getElementById('state').textContent.startsWith('Done in')"
FAILED = "!document.getElementById('fault').hidden"
NEWEST_FIRST = ("Discipline.FIFO", "Discipline.LIFO")


@pytest.fixture(scope="module", autouse=True)
def fetched():
    """Pyodide is there, as after `make playground`."""
    if not pyodide.is_there():
        pyodide.fetch()


def opened(visit, text, name="quiet_door", scores=()):
    """Return the editor with this text in it, as a visitor left it, and Python loaded."""
    page = visit("/playground/policy/")
    page.evaluate(
        "([policy, scores]) => { localStorage.setItem('doorbuster.policy', policy);"
        "localStorage.setItem('doorbuster.policy-scores', scores); }",
        [json.dumps({"name": name, "text": text}), json.dumps(list(scores))],
    )
    page.reload()
    when(page, READY)
    return page


def cells(page, body):
    """Return the cells of a table's body."""
    return [
        [row.locator("th").inner_text(), *row.locator("td").all_inner_texts()]
        for row in page.locator(f"#{body} tr").all()
    ]


def test_the_template_is_checked_and_its_run_equals_the_command_line_s(chromium, console, tmp_path):
    text = template.policy_text("quiet-door").replace(*NEWEST_FIRST)
    path = tmp_path / "quiet_door.py"
    path.write_text(text)
    spec = Spec.model_validate(
        {
            "engine": "simulated",
            "policy": [{"name": str(path)}],
            "load": {"rho": [1.4], "sessions": 1000},
        }
    )
    log = AttemptLog()
    simulate(scenario_of(ShopRun.of_spec(spec, spec.policy[0].key, 1.4), seed=1), log=log)
    here = outcomes_of(log.table(), 1.4, bound_of_spec(spec, computed(spec).best_rps))
    with visiting(chromium, console) as visit:
        page = opened(visit, text)
        press(page, "#check")
        when(page, DONE)
        checks = page.locator("#findings li").all_inner_texts()
        assert [one.split()[1] for one in checks] == [
            *("pure", "sheet", "rules", "every", "switched", "replay", "time")
        ]
        assert all(one.startswith("✓") for one in checks)
        press(page, "#run")
        when(page, f"{DONE} && !document.getElementById('ran').hidden")
        shown = dict(cells(page, "metrics"))
        assert shown["Purchases (confirms)"] == str(here.confirms)
        assert shown["Bound: the most that any policy could sell"] == f"{here.confirm_bound:.1f}"
        assert shown["Requests completed"] == f"{100 * here.completed_ratio:.1f} %"
        assert shown["Completed requests per second"] == f"{here.throughput_rps:.2f}"
        assert shown["Customers"] == f"{here.sessions:,}"


def test_a_comparison_is_a_row_of_the_private_scoreboard_and_keeps_its_text(chromium, console):
    """The row survives a reload, and its text can be opened again."""
    text = template.policy_text("quiet-door")
    with visiting(chromium, console) as visit:
        page = opened(visit, text)
        page.locator("#day summary").click()
        page.locator("#sessions").fill("200")
        press(page, "#compare")
        when(page, f"{DONE} && !document.getElementById('compared').hidden")
        rows = cells(page, "comparison")
        assert [row[0] for row in rows] == ["own/quiet_door.py", "8Q-LIFO-Pri", "DOOR-LIFO"]
        assert all("±" in row[1] for row in rows)
        assert "±" in rows[1][3]
        page.reload()
        when(page, READY)
        (row,) = cells(page, "scores")
        assert row[0] == "quiet_door.py"
        assert row[3:5] == ["200", rows[0][1]]
        page.locator(".cm-content").click()
        page.keyboard.press("Control+A")
        page.keyboard.type("gone")
        page.locator("#scores button").click()
        assert page.locator(".cm-content").inner_text().startswith('"""Quiet door')


@pytest.mark.parametrize(
    ("changed", "line", "says"),
    [
        (("from collections.abc", "import os\nfrom collections.abc"), "import os", "must not use"),
        (("return NOTHING", "return 1 / 0"), "return 1 / 0", "ZeroDivisionError"),
        (("return NOTHING", "return ("), "return (", "was never closed"),
    ],
    ids=["impure", "raises", "syntax"],
)
def test_an_error_is_shown_at_its_line(changed, line, says, chromium, console):
    text = template.policy_text("quiet-door").replace(*changed, 1)
    number = 1 + [one.strip() for one in text.splitlines()].index(line)
    with visiting(chromium, console) as visit:
        page = opened(visit, text)
        press(page, "#check")
        when(page, FAILED)
        assert says in page.locator("#findings li.fails").inner_text()
        page.get_by_role("button", name=re.compile(rf"Go to line {number}$")).first.click()
        assert page.locator(".cm-activeLine").inner_text().strip() == line
        assert page.locator(".cm-lint-marker-error").count() == 1


def test_an_endless_loop_is_ended_and_the_editor_goes_on(chromium, console):
    """The page stays usable meanwhile, says why it ended the worker, and starts another."""
    good = template.policy_text("quiet-door")
    begin = "        if self.queue.is_full"
    loop = good.replace(begin, f"        while True:\n            pass\n{begin}")
    with visiting(chromium, console) as visit:
        page = opened(visit, loop)
        press(page, "#run")
        page.locator("#search").fill("Cancel")
        assert "entries contain these words" in page.locator("#found").inner_text()
        when(page, FAILED)
        assert "did not respond for 30 s" in page.locator("#fault").inner_text()
        assert "endless loop" in page.locator("#fault").inner_text()
        when(page, "!document.getElementById('check').disabled")


def test_the_search_finds_events_by_their_words(chromium, console):
    with visiting(chromium, console) as visit:
        page = visit("/playground/policy/")
        page.locator("#search").fill("retry_after_s")
        visible = page.locator("#entries details:visible").all_inner_texts()
        assert 0 < len(visible) < 5
        page.locator("#search").fill("")
        assert page.locator("#entries details:visible").count() > 14


def test_without_javascript_it_says_what_to_do(chromium, console):
    with visiting(chromium, console) as visit:
        page = visit("/playground/policy/", java_script_enabled=False)
        assert "make new-policy" in page.locator("noscript").inner_text()
        assert page.locator("#entries details").count() > 14


def test_nothing_is_sent_to_the_server(chromium, console):
    with visiting(chromium, console) as visit:
        page = opened(visit, template.policy_text("quiet-door"))
        asked = []
        page.on("request", lambda one: asked.append(one.url))
        press(page, "#run")
        when(page, DONE)
        assert asked == []


def test_a_policy_is_written_checked_run_compared_and_submitted(chromium, console):
    console.start_workers()
    text = template.policy_text("late-first").replace(*NEWEST_FIRST)
    with visiting(chromium, console) as visit:
        page = opened(visit, "nothing yet")
        file = {"name": "Late First.py", "mimeType": "text/x-python", "buffer": text.encode()}
        page.locator("#file").set_input_files(file)
        when(page, "document.getElementById('name').value === 'late_first'")
        page.locator("#day summary").click()
        page.locator("#sessions").fill("200")
        for button, shown in (("check", "checked"), ("run", "ran"), ("compare", "compared")):
            press(page, f"#{button}")
            when(page, f"{DONE} && !document.getElementById('{shown}').hidden")
        press(page, "#submit")
        when(page, "document.querySelector('#submissions .tag') !== null")
        page.get_by_role("link", name="race", exact=True).wait_for()
        assert "late_first.py" in page.locator("#submissions tbody th").first.inner_text()
        page.locator("#submissions a", has_text="decision trace").click()
        assert "late_first" in page.url
        page.go_back()
        page.locator("#submissions td a", has_text=re.compile(r"^\d$")).click()
        page.get_by_role("cell", name="late_first", exact=True).wait_for()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("notes.txt", b"x = 1\n", "its name must end in .py"),
        ("large.py", b"#" * 140_000, "allowed: at most 131,072"),
        ("binary.py", b"\xff\xfe\x00", "must be text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused(name, content, says, chromium, console):
    with visiting(chromium, console) as visit:
        page = opened(visit, "kept = 1")
        page.locator("#file").set_input_files(
            {"name": name, "mimeType": "text/x-python", "buffer": content}
        )
        when(page, FAILED)
        assert says in page.locator("#fault").inner_text()
        assert "kept = 1" in page.locator(".cm-content").inner_text()


def test_a_submission_that_is_no_policy_is_marked_at_its_line(chromium, console):
    """The server's check finds the line, and nothing waits in the queue."""
    text = "import os\n" + template.policy_text("quiet-door")
    refused = "Failed to load resource: the server responded with a status of 400"
    with visiting(chromium, console, bears=(refused,)) as visit:
        page = opened(visit, text)
        press(page, "#submit")
        when(page, FAILED)
        assert "Not submitted. line 1: import os" in page.locator("#fault").inner_text()
        page.get_by_role("button", name="Go to line 1", exact=True).click()
        assert page.locator(".cm-activeLine").inner_text() == "import os"
