"""axe-core finds no serious or critical fault on any page, in light, in dark, on a phone.

Without accounts, and for a teacher and a student with one.
"""

import hashlib
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime import docs_site
from tests.lab.console.boards import board, written
from tests.lab.console.conftest import run

VENDOR = Path(__file__).parent / "vendor"
AXE = VENDOR / "axe.min.js"
SIZES = {"light": (1300, 900), "dark": (1300, 900), "phone": (390, 844)}


def test_axe_is_the_published_one():
    digest, name = (VENDOR / "SHA256SUMS").read_text().split()
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


@pytest.fixture(scope="module")
def pages(console) -> dict[str, str]:
    """Every page of the console by name, with something on it."""
    docs_site.build(if_stale=True)
    launch = console.launch("Looked at", sessions=300, repetitions=2)
    console.wait_until(launch, "done")
    result = console.result_of(launch)
    written(console, "20260102T000000Z-leaderboard", board())
    attempts = f"/results/{result}/attempts"
    why = re.search(r'href="([^"]*/why\?[^"]*)"', console.get(attempts).text)
    assert why
    return {
        "gallery": "/",
        "launch": "/launch/lifo-pri-simulated/",
        "reproduction": "/launch/reproduce-lifo-pri/",
        "lessons": "/lessons/",
        "lesson": "/lessons/1/",
        "step": "/lessons/1/steps/3/",
        "step with a prediction": "/lessons/1/steps/6/",
        "questions": "/lessons/1/questions/",
        "queue": "/launches/",
        "one launch": f"/launches/{launch}/",
        "watch": "/watch/",
        "playground": "/playground/",
        "policy": "/playground/policy/",
        "races": "/race/",
        "race": f"/race/?result={result}",
        "leaderboard": "/leaderboard/",
        "results": "/results/",
        "result": f"/results/{result}/",
        "overlay": f"/results/overlay?of={result}",
        "reference": "/results/reference-connection-sentry/",
        "reports": "/results/overlay?of=reference-connection-sentry",
        "scoreboard": "/scoreboard/",
        "attempts": attempts,
        "why": html.unescape(why[1]),
        "delete": f"/results/{result}/delete",
        "documentation": "/docs/",
        "lab sheet": "/docs/labs/02-lifo-pri.html",
        "concept page": "/docs/concepts/bound-and-efficiency.html",
        "lab sheets to print": "/docs/labs/print.html",
        "reference page": "/docs/spec-keys.html",
        "glossary": "/docs/glossary.html",
        "nothing": "/nothing",
    }


@pytest.fixture(scope="module")
def passwords(classroom) -> dict[str, str]:
    """Return the passwords of a teacher and of a student."""
    made = [run(classroom, "teacher", "anna"), run(classroom, "student", "bert")]
    return dict(one.stdout.strip().split(",") for one in made)


@pytest.fixture
def tab(chromium: Any, kind: str) -> Iterator[Any]:
    """A browser's window of this kind."""
    width, height = SIZES[kind]
    context = chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if kind == "dark" else "light",
        reduced_motion="reduce",
        ignore_https_errors=True,  # the classroom's certificate is by an authority of its own
    )
    context.set_default_timeout(120_000)
    yield context
    context.close()


STATUS = {"nothing": 404, "not allowed": 403}


def faults_of(context: Any, name: str, url: str) -> list[str]:
    """Return the faults of a page, in lines."""
    page = context.new_page()
    errors: list[object] = []
    page.on("pageerror", lambda error: errors.append(error))
    answer = page.goto(url)
    assert answer.status == STATUS.get(name, 200), name
    if name in ("result", "overlay"):
        # A phone folds the curves; what is folded is checked, too.
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.wait_for_selector("#curves-charts canvas")
    if name == "why":
        page.wait_for_selector(".story")
        for summary in page.query_selector_all("summary"):
            summary.click()
    found = looked_at(page, name) + [f"{name}: script: {error}" for error in errors]
    page.close()
    return found


def looked_at(page: Any, name: str) -> list[str]:
    """Return axe-core's faults of a page as it is, and whether it is too wide."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    faults = [
        f"{name}: {one['id']} ({one['impact']}): {node['target']} {node['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
    wide, screen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return faults + [f"{name}: {wide} pixels wide on a screen of {screen}"] * (wide > screen)


@pytest.mark.browser
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", SIZES)
def test_no_page_shuts_anybody_out(console, pages: dict[str, str], tab: Any):
    faults = [
        fault for name, path in pages.items() for fault in faults_of(tab, name, console.url(path))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.browser
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("kind", "person"), [("light", "anna"), ("dark", "bert"), ("phone", "bert")]
)
def test_no_page_shuts_anybody_out_who_has_an_account(
    classroom, pages: dict[str, str], passwords: dict[str, str], tab: Any, person: str
):
    page = tab.new_page()
    page.goto(classroom.url("/people/login"))
    faults = looked_at(page, "login")
    for password in ("wrong", passwords[person]):
        page.fill("#id_username", person)
        page.fill("#id_password", password)
        page.click("main button[type=submit]")
        if password == "wrong":
            page.wait_for_selector("[role=alert]")
            faults += looked_at(page, "login again")
    page.wait_for_selector(".person")
    page.close()
    theirs = pages | {"password": "/people/password", "tokens": "/tokens/"}
    if person == "bert":  # deleting is the teacher's
        theirs["not allowed"] = theirs.pop("delete")
    else:
        theirs |= {"people": "/people/", "person": "/people/2/", "class": "/lessons/class/"}
    faults += [
        fault
        for name, path in theirs.items()
        for fault in faults_of(tab, name, classroom.url(path))
    ]
    assert not faults, "\n".join(faults)
